#pragma once

// The version of this library. Semantic versioning from 1.0 on.

#define RINGRPC_VERSION_MAJOR 0
#define RINGRPC_VERSION_MINOR 1
#define RINGRPC_VERSION_PATCH 0
#define RINGRPC_VERSION "0.1.0"
