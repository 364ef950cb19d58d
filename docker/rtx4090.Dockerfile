# For RTX 4090: `docker/run cuda-rtx4090 --build`. The build context is the repository.
ARG BASE=docker.io/library/python:3.12-slim-bookworm@sha256:54c85f3c47607a77f32adec749d3c81d1348bf25833671f512b26a9b6d778cb3
FROM ${BASE}

COPY --chmod=755 docker/system.sh /opt/qrita/
RUN /opt/qrita/system.sh

# The torch stack: its name in ci/stacks, and another index or folder for it.
ARG STACK=cuda
ARG WHEELS=
COPY --chmod=755 docker/stack.sh ci/stacks/${STACK}.txt /opt/qrita/
RUN /opt/qrita/stack.sh "/opt/qrita/${STACK}.txt" "${WHEELS}"

ARG QRITA_INDEX=
COPY --chmod=755 docker/tox.sh ci/matrix.toml /opt/qrita/
RUN /opt/qrita/tox.sh
COPY --chmod=755 docker/entrypoint.sh /opt/qrita/

ARG BASE
ARG TARGET=cuda-rtx4090
ENV QRITA_ENVIRONMENT=${STACK} \
    QRITA_TARGET=${TARGET} \
    QRITA_IMAGE=${BASE} \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 1000
# SIGINT to all processes, as Ctrl-C in a terminal: the tests stop and their report says so. SIGTERM would end tox only.
STOPSIGNAL SIGINT
ENTRYPOINT ["tini", "-g", "--", "/opt/qrita/entrypoint.sh"]
