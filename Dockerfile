# docker build -t palisade . && docker run --rm -v "$PWD:/work" palisade verify x.c --model tso
FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
WORKDIR /palisade
COPY . .
RUN scripts/dist && mkdir /package && tar -xzf target/dist/palisade-*.tar.gz -C /package --strip-components 1

FROM debian:bookworm-slim
# The preprocessor and the headers of C programs.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY --from=build /package /usr/local
WORKDIR /work
ENTRYPOINT ["palisade"]
