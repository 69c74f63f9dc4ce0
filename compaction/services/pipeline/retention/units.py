"""The spellings of units and currencies, and the form in which each is compared."""

_UNITS_TEXT = """
km: km kms kilometre kilometres kilometer kilometers; m: m metre metres meter meters;
cm: cm centimetre centimetres centimeter centimeters; mm: mm millimetre millimetres millimeter millimeters;
mi: mi mile miles; ft: ft foot feet; inch: inch inches ″; yd: yd yard yards;
kg: kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes; g: g gram grams gramme grammes;
mg: mg milligram milligrams; lb: lb lbs pound pounds; oz: oz ounce ounces; t: tonne tonnes ton tons;
ns: ns nanosecond nanoseconds; us: µs us microsecond microseconds; ms: ms millisecond milliseconds msec;
s: s sec secs second seconds; min: min mins minute minutes; h: h hr hrs hour hours; day: day days;
week: week weeks wk wks; month: month months; year: year years yr yrs; decade: decade decades; B: B byte bytes;
kB: kB KB kilobyte kilobytes; MB: MB megabyte megabytes; GB: GB gigabyte gigabytes; TB: TB terabyte terabytes;
KiB: KiB kibibyte kibibytes; MiB: MiB mebibyte mebibytes; GiB: GiB gibibyte gibibytes; bit: bit bits;
kbit/s: kbps kbit/s; Mbit/s: Mbps Mbit/s; Gbit/s: Gbps Gbit/s; %: % percent per_cent pct; ‰: ‰ permille;
°C: °C degrees_Celsius degree_Celsius degrees_celsius degrees_C celsius;
°F: °F degrees_Fahrenheit degrees_fahrenheit degrees_F fahrenheit; degree: ° degree degrees;
km/h: km/h kmh kph kilometres_per_hour kilometers_per_hour km_per_hour; mph: mph mi/h miles_per_hour;
m/s: m/s metres_per_second meters_per_second; W: W watt watts; kW: kW kilowatt kilowatts; MW: MW megawatt megawatts;
kWh: kWh kilowatt_hours; V: V volt volts; A: amp amps ampere amperes; mAh: mAh; Hz: Hz hertz; kHz: kHz kilohertz;
MHz: MHz megahertz; GHz: GHz gigahertz; l: l L litre litres liter liters;
ml: ml mL millilitre millilitres milliliter milliliters; gallon: gallon gallons gal; cup: cup cups;
tbsp: tbsp tablespoon tablespoons; tsp: tsp teaspoon teaspoons; m²: m² sqm square_metres square_meters;
km²: km² square_kilometres square_kilometers; ft²: sq_ft sqft square_feet; acre: acre acres; ha: hectare hectares;
kcal: kcal calorie calories; rpm: rpm; fps: fps; bpm: bpm; px: px pixel pixels; dpi: dpi; token: token tokens;
message: message messages; user: user users; person: person people persons; customer: customer customers;
child: child children kid kids; file: file files; row: row rows; request: request requests;
req/s: req/s requests_per_second rps; item: item items; page: page pages; line: line lines; test: test tests;
point: point points; step: step steps; retry: retry retries; replica: replica replicas; core: core cores;
worker: worker workers; error: error errors; time: times
"""
_CURRENCIES_TEXT = """
USD: USD dollar dollars bucks US_dollars; EUR: EUR euro euros; GBP: GBP quid pounds_sterling; JPY: JPY yen;
CHF: CHF francs; INR: INR rupee rupees; CNY: CNY yuan RMB; CAD: CAD; AUD: AUD; RUB: RUB rouble roubles ruble rubles;
USD/100: cent cents; GBP/100: pence
"""


def _listed(text: str) -> dict[str, str]:
    entries = (entry.strip().partition(": ") for entry in text.split(";"))
    return {form.replace("_", " "): name for name, _, forms in entries for form in forms.split()}


MEASUREMENT_UNITS = _listed(_UNITS_TEXT)
#: Longer spellings have the same meaning in upper and lower case.
MEASUREMENT_UNITS = {
    form.lower(): name for form, name in MEASUREMENT_UNITS.items() if len(form) > 2
} | MEASUREMENT_UNITS
CURRENCIES = _listed(_CURRENCIES_TEXT)
CURRENCIES |= {form.lower(): name for form, name in CURRENCIES.items() if not form.isupper()}
CURRENCY_SIGNS = {
    "US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY",
    "₹": "INR", "₽": "RUB",
}  # fmt: skip
