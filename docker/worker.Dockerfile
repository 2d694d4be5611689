# The worker with all programs that its commands use: Python with Pillow (imaging), ffmpeg and Chromium (recordings,
# steps).
# Build it from the repository's root:
#   docker build -f docker/worker.Dockerfile -t muster-worker:local .
ARG NODE_IMAGE=node:24.11.1-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY tsconfig.base.json tsconfig.json ./
COPY libs/contracts libs/contracts
COPY apps/worker apps/worker
RUN node apps/worker/one-file.mjs muster-worker.js

FROM ${NODE_IMAGE}
RUN apt-get update \
  && apt-get install -y --no-install-recommends \
    ca-certificates chromium ffmpeg fonts-dejavu-core python3 python3-pil tini \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production \
  HOME=/var/lib/muster \
  MUSTER_WORKER_DIR=/var/lib/muster/worker
COPY --from=build /app/muster-worker.js /opt/muster/muster-worker.js
# Mount a volume here to preserve the worker's journal and its unsent data when the container is replaced.
RUN mkdir -p /var/lib/muster && chown 1000:1000 /var/lib/muster
USER 1000:1000
VOLUME /var/lib/muster
# Required: SERVICE_BASE_URL, SERVICE_API_KEY and AGENT_ID. For all variables see apps/worker/src/settings.ts.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["node", "/opt/muster/muster-worker.js"]
