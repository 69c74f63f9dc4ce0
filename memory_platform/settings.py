"""Settings: every value of a deployment comes from the environment and is typed; errors name the invalid variable.

Missing URLs are those of the embedded servers of DATA_DIR if they are running (`make run`).
"""

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from memory_platform import __version__
from memory_platform.embedded.environment import (
    NamedEnv,
    broker_options,
    cache_config,
    database_config,
    email_config,
    embedding_endpoints,
    embedding_files,
    replica_config,
)
from memory_platform.embedded.files import ServerUrls, read_endpoints
from memory_platform.observability.log_settings import logging_config
from memory_platform.rest.tags import TAGS
from memory_platform.schedule import BEAT_SCHEDULE, MAINTENANCE_QUEUE, TASK_QUEUES, TASK_ROUTES

BASE_DIR = Path(__file__).resolve().parent.parent
env = NamedEnv()
NamedEnv.read_env(BASE_DIR / ".env")

DATA_DIR = (BASE_DIR / env.str("DATA_DIR", default="var")).expanduser().resolve()
PORT = env.int("PORT", default=8000)
DEBUG = env.bool("DEBUG", default=False)
DEMO = env.bool("DEMO", default=True)
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
if LOG_LEVEL not in logging.getLevelNamesMapping():
    raise ImproperlyConfigured("LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL")

_endpoints = read_endpoints(DATA_DIR)
SECRET_KEY_MIN_CHARACTERS = 50
_secret_key_file: Path = DATA_DIR / "secrets" / "secret_key"
# The last is enough for check, makemigrations and collectstatic; wsgi.py refuses to serve with it.
_stored_key = _secret_key_file.read_text().strip() if _secret_key_file.is_file() else "insecure-no-secret-key-yet"
SECRET_KEY = env.str("SECRET_KEY", default=_stored_key)
if env.str("SECRET_KEY", default="") and len(SECRET_KEY) < SECRET_KEY_MIN_CHARACTERS:
    raise ImproperlyConfigured(f"SECRET_KEY must have at least {SECRET_KEY_MIN_CHARACTERS} random characters")
#: Former keys, with which sessions and erasure receipts are still verified.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
# Set if a proxy terminates TLS: cookies are then sent only over https.
HTTPS_ONLY = env.bool("HTTPS_ONLY", default=False)
# How many proxies append the address that they see to X-Forwarded-For; sign-ins are limited by address.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0)
if TRUSTED_PROXIES < 0:
    raise ImproperlyConfigured("TRUSTED_PROXIES must be 0 or more")
# A sign-in ends after this time, regardless of activity.
SESSION_HOURS = env.int("SESSION_HOURS", default=12)
if SESSION_HOURS < 1:
    raise ImproperlyConfigured("SESSION_HOURS must be 1 or more")

# Whether the console sends admins to set up a second factor before anything else.
ADMIN_TWO_FACTOR_REQUIRED = env.bool("ADMIN_TWO_FACTOR_REQUIRED", default=False)

# --- Databases: `default` is the role of the API, `owner` migrates; the others are optional (ADR-0160) --------------

NO_DATABASE_URL = "postgres://memory_app@127.0.0.1:5432/memory"
# Off behind a pooler that does not keep prepared statements.
DATABASE_PREPARED_STATEMENTS = env.bool("DATABASE_PREPARED_STATEMENTS", default=True)
# Whether the tables are distributed by Citus (ADR-0228).
DATABASE_CITUS = env.bool("DATABASE_CITUS", default=False)
# Whether a pooler gives each transaction another connection (ADR-0190), or Citus one on each node.
DATABASE_POOLER = env.bool("DATABASE_POOLER", default=DATABASE_CITUS or not DATABASE_PREPARED_STATEMENTS)
# Longer than a restart of the embedded server takes: a request then waits instead of failing.
DATABASE_POOL_WAIT_SECONDS = 5
# The buffers of a connection grow to its largest result; only closing it frees them.
DATABASE_POOL_LIFETIME_SECONDS = 300


def _database(url: str, pool_size: int, *, idle: int = 1) -> dict[str, Any]:
    config = database_config(url)
    config |= {"ENGINE": "memory_platform.postgres", "CONN_MAX_AGE": 0}
    # The statements of `execute_prepared` are prepared at their first use; Django's own are never prepared.
    config.setdefault("OPTIONS", {})["prepare_threshold"] = 0 if DATABASE_PREPARED_STATEMENTS else None
    if pool_size:
        pool = {"timeout": DATABASE_POOL_WAIT_SECONDS, "max_lifetime": DATABASE_POOL_LIFETIME_SECONDS}
        config["OPTIONS"]["pool"] = {"min_size": idle, "max_size": pool_size, **pool}
    return config


DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", default=8)
DATABASE_URL = env.str("DATABASE_URL", default=_endpoints.database_url if _endpoints else NO_DATABASE_URL)
_stored = _endpoints if _endpoints and "DATABASE_URL" not in env else ServerUrls()
DATABASES = {"default": _database(DATABASE_URL, DATABASE_POOL_SIZE)}
if _url := env.str("DATABASE_CONSOLE_URL", default=_stored.database_console_url):
    DATABASES["console"] = _database(_url, DATABASE_POOL_SIZE, idle=0)
if _url := env.str("DATABASE_MAINTENANCE_URL", default=_stored.database_maintenance_url):
    DATABASES["maintenance"] = _database(_url, DATABASE_POOL_SIZE, idle=0)
if _url := env.str("DATABASE_REPLICA_URL", default=""):
    DATABASES["replica"] = replica_config(_database(_url, DATABASE_POOL_SIZE, idle=0))
DATABASE_REPLICA_LAG_SECONDS = env.float("DATABASE_REPLICA_LAG_SECONDS", default=2.0)
if _url := env.str("DATABASE_OWNER_URL", default=_stored.database_owner_url):
    DATABASES["owner"] = _database(_url, pool_size=0)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Broker and cache ----------------------------------------------------------------------------------------------

CACHE_URL = env.str("CACHE_URL", default=_endpoints.cache_url if _endpoints else "locmemcache://")
# With sentinel:// URLs: the name of the master, and the password of the sentinels themselves.
_sentinel = {"master": env.str("REDIS_SENTINEL_MASTER", default="mymaster")}
_sentinel["sentinel_password"] = env.str("REDIS_SENTINEL_PASSWORD", default="")
CACHES = {"default": cache_config(CACHE_URL, _sentinel)}

CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default=_endpoints.broker_url if _endpoints else "memory://")
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 2, "interval_start": 0.1, "interval_max": 0.2}
CELERY_BROKER_TRANSPORT_OPTIONS = broker_options(CELERY_BROKER_URL, DATA_DIR, _sentinel)
CELERY_TASK_DEFAULT_QUEUE = MAINTENANCE_QUEUE
CELERY_TASK_QUEUES, CELERY_TASK_ROUTES = TASK_QUEUES, TASK_ROUTES
CELERY_TASK_TIME_LIMIT = 600  # below the visibility timeout, or a slow task would run twice at once
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = BEAT_SCHEDULE
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "run" / "celerybeat-schedule")

# --- Embedding -----------------------------------------------------------------------------------------------------

EMBEDDING_PROVIDER = env.str("EMBEDDING_PROVIDER", default="wordllama" if find_spec("wordllama") else "hashed")
if EMBEDDING_PROVIDER not in {"wordllama", "hashed", "openai"}:
    raise ImproperlyConfigured("EMBEDDING_PROVIDER must be wordllama, hashed or openai")
EMBEDDING_BASE_URL = env.str("EMBEDDING_BASE_URL", default="")
EMBEDDING_API_KEY = env.str("EMBEDDING_API_KEY", default="")
EMBEDDING_MODEL = env.str("EMBEDDING_MODEL", default="")
EMBEDDING_DIMENSION = env.int("EMBEDDING_DIMENSION", default=0)
EMBEDDING_TIMEOUT_SECONDS = env.float("EMBEDDING_TIMEOUT_SECONDS", default=10.0)
# Other models that tenants can be re-embedded to or from.
EMBEDDING_FILES = embedding_files(env.str("EMBEDDING_FILES", default=""))
EMBEDDING_ENDPOINTS = embedding_endpoints(env.str("EMBEDDING_ENDPOINTS", default=""))

# --- Summaries of conversations: by a model where one is named, else extractive ------------------------------------

LLM_BASE_URL = env.str("LLM_BASE_URL", default="")
LLM_API_KEY = env.str("LLM_API_KEY", default="")
LLM_MODEL = env.str("LLM_MODEL", default="")
LLM_TIMEOUT_SECONDS = env.float("LLM_TIMEOUT_SECONDS", default=30.0)

# --- Alerts --------------------------------------------------------------------------------------------------------

# Without it no e-mail is sent.
EMAIL_URL = env.str("EMAIL_URL", default="")
_email = email_config(EMAIL_URL)
EMAIL_BACKEND = _email.get("EMAIL_BACKEND", "django.core.mail.backends.dummy.EmailBackend")
EMAIL_HOST, EMAIL_PORT = _email.get("EMAIL_HOST") or "localhost", _email.get("EMAIL_PORT") or 25
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _email.get("EMAIL_HOST_USER") or "", _email.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = _email.get("EMAIL_USE_TLS", False), _email.get("EMAIL_USE_SSL", False)
EMAIL_FILE_PATH = _email.get("EMAIL_FILE_PATH") or None
EMAIL_TIMEOUT = 5  # seconds for each answer of the mail server
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="memory-platform@localhost")
# The beginning of links in alerts.
CONSOLE_URL = env.str("CONSOLE_URL", default=f"http://localhost:{PORT}")
# Whether webhooks may be sent to private addresses, and with http to this machine.
ALERT_WEBHOOKS_PRIVATE = env.bool("ALERT_WEBHOOKS_PRIVATE", default=False)

# --- Token counting ------------------------------------------------------------------------------------------------

# A folder of Hugging Face tokenizers, each named as the models it is for begin: llama-3.1.json.
TOKENIZERS_DIR = env.str("TOKENIZERS_DIR", default="")
if TOKENIZERS_DIR and not (BASE_DIR / TOKENIZERS_DIR).is_dir():
    raise ImproperlyConfigured("TOKENIZERS_DIR must be a folder that exists")

# --- Application ---------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "memory_platform.apps.PlatformAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "template_partials",
    "csp",
    "rest_framework",
    "rest_framework_api_key",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "memory_platform",
    "memories",
    "context",
    "compaction",
]

MIDDLEWARE = [
    "memory_platform.web.unread_bodies.UnreadBodyMiddleware",
    "memory_platform.web.middleware.DatabaseRoleMiddleware",
    "memory_platform.observability.requests.RequestMiddleware",
    "memories.tenancy.api.middleware.ApiMiddleware",
    "memory_platform.console.time_limits.TimeLimitMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "memory_platform.web.middleware.PolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "memory_platform.web.middleware.PageCompression",
    "memory_platform.console.hidden_text.HiddenTextMiddleware",
    "memory_platform.web.middleware.BadRequestMiddleware",
    "memory_platform.web.middleware.ConflictMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "memory_platform.console.read_log.ReadLogMiddleware",
]

ROOT_URLCONF = "memory_platform.urls"
WSGI_APPLICATION = "memory_platform.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            # Tags are in the capability whose pages use them, where Django does not search.
            "libraries": {
                "bars": "context.profiles.templatetags.bars",
                "evaluations": "context.evaluation.templatetags",
                "figures": "memory_platform.web.templatetags.figures",
                "reviews": "compaction.review.templatetags.reviews",
                "pressure": "compaction.sessions.templatetags.pressure",
                "saved_views": "memories.tenancy.templatetags.saved_views",
                "settings": "context.profiles.templatetags.settings",
                "slopes": "context.workbench.templatetags",
                "tables": "memory_platform.web.tables",
            },
        },
    }
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "sign-in"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "memory_platform.web.formats"
USE_I18N = False

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# --- Safety --------------------------------------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
# Django's own defaults deny frames, keep referrers to this origin, and make the session's cookie HttpOnly and Lax.
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS_ONLY else None
SECURE_SSL_REDIRECT = HTTPS_ONLY
# Probes come from inside, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS_ONLY else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS_ONLY
# Preloading is for the domain's owner to decide.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
PERMISSIONS_POLICY = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
# Of uploads in the console, which stay in memory; the API's own (memories/tenancy/api/body_limits.py) are not above it.
DATA_UPLOAD_MAX_MEMORY_SIZE = FILE_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

# --- REST ----------------------------------------------------------------------------------------------------------

API_RATE_LIMIT_PER_SECOND = env.int("API_RATE_LIMIT_PER_SECOND", default=600)
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "memories.tenancy.api.problems.api_exception_handler",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    # The schema's only version, which its file name contains.
    "ALLOWED_VERSIONS": ["v1"],
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Memory platform",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "DEFAULT_GENERATOR_CLASS": "memory_platform.rest.docs.DocumentGenerator",
    # Names of enumerations that fields with different names share.
    "ENUM_NAME_OVERRIDES": {
        "SummaryStyleEnum": ["compact", "detailed"],
        "AppendedStatusEnum": ["created", "existing"],
        "StoredStatusEnum": ["created", "updated", "existing"],
        "BulkStatusEnum": ["created", "updated", "existing", "invalid"],
        "StoredReasonEnum": ["duplicate", "recalled"],
        "MessageStateEnum": ["live", "masked", "compacted"],
        "SessionStateEnum": ["open", "closed"],
        "CompactionStateEnum": ["pending", "proposed", "applied", "rejected", "rolled_back", "failed", "superseded"],
        "EventStateEnum": ["queued", "running", "done", "failed"],
        "EvaluationStateEnum": ["queued", "running", "done", "failed", "cancelled"],
        "OrderingEnum": ["top_down", "u_curve", "head_tail", "stable"],
        "EvaluationOrderingEnum": ["top_down", "u_curve", "head_tail"],
        "ImportStatusEnum": ["created", "existing", "invalid"],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "memory_platform.rest.docs.add_operation_summaries",
        "memory_platform.rest.docs.add_examples",
        "memory_platform.rest.docs.order_operations",
    ],
    "TAGS": TAGS,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # JavaScript instead of a dict, because it names a function of static/js/api-docs.js.
    # From 150 open rows on, it renders only those in view, which a search in the page does not find: docExpansion.
    "SWAGGER_UI_SETTINGS": """{
        deepLinking: true,
        validatorUrl: null,
        filter: true,
        fn: {opsFilter: filterOperations},
        docExpansion: "none",
        defaultModelsExpandDepth: 0,
        displayRequestDuration: true,
    }""",
}

# --- Metrics and traces --------------------------------------------------------------------------------------------

# Who may read /metrics; without it only this machine may, and only without a proxy.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
# The port at which a separate worker serves its metrics.
METRICS_PORT = env.int("METRICS_PORT", default=0)
# A folder in which processes of one machine add up their metrics; empty at their start.
PROMETHEUS_MULTIPROC_DIR = env.str("PROMETHEUS_MULTIPROC_DIR", default="")
# Where traces are sent if the extra `tracing` is installed.
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")

#: Every variable that these settings read, for backups.
ENVIRONMENT_NAMES = frozenset(env.names)

# --- Logging ------------------------------------------------------------------------------------------------------

LOG_FORMAT = env.str("LOG_FORMAT", default="line")
if LOG_FORMAT not in {"line", "json"}:
    raise ImproperlyConfigured("LOG_FORMAT must be line or json")
LOGGING = logging_config(LOG_LEVEL, LOG_FORMAT)
