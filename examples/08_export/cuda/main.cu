// The layer in a stream of this program's, between its own kernels, and in a CUDA graph that is replayed.
#include <ffn.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

__global__ void fill(float *data, int count, float step) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) data[i] = static_cast<float>(i % 5 - 2) * step;
}

int main(int count, char **arguments) {
  constexpr int n = 100;
  std::ifstream file(count > 1 ? arguments[1] : "ffn.safetensors", std::ios::binary);
  const std::vector<char> weights{std::istreambuf_iterator<char>(file), {}};

  float *b = nullptr, *bias = nullptr, *c = nullptr;
  if (cudaMalloc(&b, FFN_COLUMNS * n * sizeof(float)) != cudaSuccess) {
    std::printf("[SKIP] no CUDA device\n");
    return 0;
  }
  cudaMalloc(&bias, FFN_ROWS * sizeof(float));
  cudaMalloc(&c, FFN_ROWS * n * sizeof(float));

  const ffn_package::Handle handle(weights.data(), weights.size());  // throws where it cannot be opened
  ffn_args args = ffn_package::args();
  args.n = n;
  args.b = b;
  args.bias = bias;
  args.c = c;

  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  fill<<<(FFN_COLUMNS * n + 255) / 256, 256, 0, stream>>>(b, FFN_COLUMNS * n, 1.0f);
  fill<<<(FFN_ROWS + 255) / 256, 256, 0, stream>>>(bias, FFN_ROWS, 0.5f);
  handle.launch(args, nullptr, 0, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, 0);
  for (int i = 0; i < 10; ++i) cudaGraphLaunch(replay, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;

  std::vector<float> result(FFN_ROWS * n), expected(FFN_ROWS * n), host_b(FFN_COLUMNS * n), host_bias(FFN_ROWS);
  cudaMemcpy(result.data(), c, result.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < FFN_COLUMNS * n; ++i) host_b[i] = static_cast<float>(i % 5 - 2);
  for (int i = 0; i < FFN_ROWS; ++i) host_bias[i] = static_cast<float>(i % 5 - 2) * 0.5f;
  args.b = host_b.data();
  args.bias = host_bias.data();
  args.c = expected.data();
  if (ffn_reference(weights.data(), weights.size(), &args) != FFN_OK) return 1;
  double largest = 0;
  for (std::size_t i = 0; i < result.size(); ++i)
    largest = std::fmax(largest, std::fabs(static_cast<double>(result[i]) - static_cast<double>(expected[i])));
  std::printf("largest difference from the reference: %.2e\n", largest);
  return largest < 1e-4 ? 0 : 1;
}
