// A child that crashes, hangs or eats memory costs one answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/measure/worker.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace weft {
namespace {

using ::testing::HasSubstr;
using End = WorkerReply::End;

[[noreturn]] void hang() {
  for (;;) pause();
}

/// Does what it is asked to.
std::string serve(const std::string& request) {
  static int count = 0;
  ++count;
  if (request == "crash") {
    std::fprintf(stderr, "about to crash\n");
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  }
  if (request == "abort") std::abort();
  if (request == "exit") _exit(7);
  if (request == "throw") throw std::runtime_error("thrown by the request");
  if (request == "hang") hang();
  if (request == "memory") {
    std::vector<std::vector<char>> all;
    for (int i = 0; i < 1000; ++i) all.emplace_back(std::size_t{16} << 20U, 'x');
    return "had it all";
  }
  if (request == "start") {
    // A program in a group of its own, as compilers are, which says who it is.
    run_process({"sh", "-c", "echo $$ > /tmp/weft_worker_test_" + std::to_string(getppid()) + "; sleep 100"});
  }
  return request + " " + std::to_string(count);
}

TEST(WorkerProcess, AnswersOneAfterTheOther) {
  Worker worker(serve);
  EXPECT_EQ(worker.ask("a", 10).text, "a 1");
  EXPECT_EQ(worker.ask("b", 10).text, "b 2");
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(worker.ask(large, 10).text, large + " 3");
  EXPECT_EQ(worker.ask("", 10).text, " 4");
  EXPECT_TRUE(worker.alive());
}

TEST(WorkerProcess, SaysHowItEnded) {
  const auto reply = [](const std::string& request) {
    Worker worker(serve);
    const WorkerReply answer = worker.ask(request, 20);
    EXPECT_EQ(answer.end, End::died) << request;
    EXPECT_FALSE(worker.alive());
    return answer;
  };
  const WorkerReply crash = reply("crash");
  EXPECT_THAT(crash.text, HasSubstr("Segmentation fault"));
  EXPECT_EQ(crash.said, "about to crash");
  EXPECT_THAT(reply("abort").text, HasSubstr("Abort"));
  EXPECT_EQ(reply("exit").text, "exit code 7");
  EXPECT_EQ(reply("throw").said, "thrown by the request");
}

TEST(WorkerProcess, IsEndedAtItsLimit) {
  Worker worker(serve);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(worker.ask("hang", 0.2).end, End::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_FALSE(worker.alive());
}

TEST(WorkerProcess, HasALimitOfMemory) {
  Worker worker(serve, std::uint64_t{1} << 30U);
  const WorkerReply reply = worker.ask("memory", 60);
  EXPECT_EQ(reply.end, End::died);
  EXPECT_THAT(reply.said, HasSubstr("bad_alloc"));
}

TEST(WorkerProcess, EndsWhatItHasStarted) {
  const std::string file = "/tmp/weft_worker_test_" + std::to_string(getpid());
  {
    Worker worker(serve);
    EXPECT_EQ(worker.ask("start", 2).end, End::timed_out);
  }
  pid_t started = 0;
  std::ifstream(file) >> started;
  std::remove(file.c_str());
  ASSERT_GT(started, 0);
  // It has been killed; whoever inherited it may not have collected it yet.
  for (int i = 0; i < 500 && kill(started, 0) == 0; ++i) {
    std::ifstream stat("/proc/" + std::to_string(started) + "/stat");
    std::string line;
    std::getline(stat, line);
    if (line.find(") Z") != std::string::npos) return;
    usleep(10'000);
  }
  EXPECT_NE(kill(started, 0), 0);
}

TEST(WorkerProcess, DiesWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    close(ends[0]);
    Worker worker(serve);  // holds the other end of the pipe, too
    worker.send("hang", 1000);
    usleep(100'000);
    kill(getpid(), SIGKILL);
  }
  close(ends[1]);
  waitpid(parent, nullptr, 0);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "nobody holds the other end any more";
  close(ends[0]);
}

TEST(WorkerProcess, TwoWorkAtOnce) {
  Worker one(serve);
  Worker two(serve);
  one.send("hang", 30);
  EXPECT_EQ(two.ask("b", 10).text, "b 1");
  EXPECT_FALSE(one.take());
  EXPECT_GT(one.seconds_left(), 1);
}

TEST(WorkerProcess, OneThatDiedBetweenRequestsIsFoundOut) {
  Worker worker([](const std::string& request) {
    if (request == "last") {
      kill(getpid(), SIGSTOP);
      _exit(0);
    }
    return std::string("alive");
  });
  EXPECT_EQ(worker.ask("first", 10).text, "alive");
  EXPECT_EQ(worker.ask("last", 0.3).end, End::timed_out);
}

}  // namespace
}  // namespace weft
