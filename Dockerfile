# The command line for the processor:
#   docker build -t probust .
#   docker run --rm -v "$PWD:/data" probust estimate model.onnx images.npy --sigma 0.1
FROM debian:12-slim AS build
WORKDIR /probust
COPY tests/tools/install.sh tests/tools/
RUN tests/tools/install.sh build
COPY . .
# The instruction set: AVX2 by default; with --build-arg ARCH= the compiler's own default.
ARG ARCH=x86-64-v3
RUN cmake --preset release -DPROBUST_TESTS=OFF -DPROBUST_ARCH="$ARCH"
RUN cmake --build --preset release --target probust_program probust_reproduce
RUN cmake --install build/release --prefix /opt/probust --strip --component program

FROM debian:12-slim
RUN apt-get update && \
    apt-get install -y --no-install-recommends libgcc-s1 libpng16-16 libsqlite3-0 libstdc++6 zlib1g && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/probust /usr/local
WORKDIR /data
ENTRYPOINT ["probust"]
