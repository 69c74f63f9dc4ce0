"""The drawing of a memory's links: sides, arrow heads, and hidden neighbours."""

from uuid import UUID

from memory_platform.web.link_graph import BOX_WIDTH, NEIGHBOURS_PER_SIDE_MAX, LinkedNeighbour, link_graph

ONE, OTHER = UUID(int=1), UUID(int=2)


def neighbour(number: int, *, is_out: bool, kind: str = "about") -> LinkedNeighbour:
    return LinkedNeighbour(UUID(int=number), f"memory {number}", False, kind, is_out)


def test_memory_without_links_is_not_drawn() -> None:
    assert link_graph("alone", []) is None


def test_incoming_links_are_left_and_outgoing_ones_right() -> None:
    graph = link_graph("middle", [neighbour(1, is_out=True), neighbour(2, is_out=False)])
    assert graph is not None
    assert {box.id: box.x for box in graph.boxes} == {ONE: graph.width - BOX_WIDTH, OTHER: 0}
    assert [(line.leads_in, line.leads_out) for line in graph.lines] == [(True, False), (False, True)]


def test_side_without_a_link_takes_no_width() -> None:
    both = link_graph("middle", [neighbour(1, is_out=True), neighbour(2, is_out=False)])
    for is_out, x in ((True, 0), (False, BOX_WIDTH)):
        graph = link_graph("middle", [neighbour(1, is_out=is_out)])
        assert graph is not None
        assert both is not None
        assert graph.width < both.width
        assert (graph.middle.x > x) != is_out


def test_neighbour_of_several_links_appears_once_with_all_kinds() -> None:
    links = [neighbour(1, is_out=True, kind="about"), neighbour(1, is_out=False, kind="names")]
    graph = link_graph("middle", links)
    assert graph is not None
    (line,) = graph.lines
    assert (line.leads_in, line.leads_out, line.kinds) == (True, True, "about, names")


def test_number_of_neighbours_is_limited_and_all_are_within_the_drawing() -> None:
    links = [neighbour(n, is_out=n % 3 > 0, kind="a_very_long_kind_of_a_link") for n in range(1, 31)]
    graph = link_graph("middle " * 50, links)
    assert graph is not None
    assert len(graph.boxes) == 2 * NEIGHBOURS_PER_SIDE_MAX
    assert graph.hidden == 30 - len(graph.boxes)
    for box in (*graph.boxes, graph.middle):
        assert 0 <= box.x <= graph.width - graph.box_width
        assert 0 <= box.y <= graph.height - graph.box_height
        assert len(box.lines) <= 2
