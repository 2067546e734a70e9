// The workload of ipc-teardown on libmultiprocess itself, for whoever has it installed: the modes
// and arguments of ../workload/ipc-teardown.c, but for the conversation. The servers are this
// program again. Every wait is bounded.
#include <teardown.capnp.h>
#include <teardown.capnp.proxy.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <csignal>
#include <mp/proxy-io.h>
#include <mp/util.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace {

constexpr int SERVER_FD = 30, LIMIT_SECONDS = 40;
using Client = std::unique_ptr<mp::ProxyClient<TeardownInterface>>;

void log(mp::LogMessage message) {
    if (message.level == mp::Log::Raise)
        throw std::runtime_error(message.message);
}

[[noreturn]] void fail(const char *what) {
    std::perror(what);
    std::exit(1);
}

class Server final : public Teardown {
  public:
    int ping(int value) override {
        return value + 1;
    }
    void die() override {
        _exit(0);
    }
};

void serve() {
    Server server;
    mp::EventLoop loop("ipc-teardown server", log);
    mp::ServeStream<TeardownInterface>(loop, mp::MakeStream(loop, SERVER_FD), server);
    loop.loop();
}

// Not by /proc/self/exe, which under valgrind is valgrind.
pid_t spawn(int fd) {
    char self[4096], how[] = "--server", number[] = "30";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        fail("the path of this program");
    self[n] = '\0';
    char *argv[] = {self, how, number, nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, SERVER_FD);
    pid_t process;
    errno = posix_spawn(&process, self, &actions, nullptr, argv, environ);
    if (errno)
        fail("starting the server");
    posix_spawn_file_actions_destroy(&actions);
    return process;
}

struct Mode {
    std::string name;
    long us;
    bool is(const char *other) const {
        return name == other;
    }
    size_t threads() const {
        return is("many") ? 16 : 1;
    }
    size_t servers() const {
        return is("many") ? 4 : 1;
    }
    bool kills() const {
        return !is("local") && !is("incall");
    }
    bool releases() const {
        return is("idle") || is("many");
    }
};

struct Servers {
    std::vector<Client> client;
    std::vector<pid_t> process;

    void start(mp::EventLoop &loop, size_t n) {
        for (size_t i = 0; i < n; i++) {
            int fd[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
                fail("socketpair");
            process.push_back(spawn(fd[1]));
            close(fd[1]);
            client.push_back(
                mp::ConnectStream<TeardownInterface>(loop, mp::MakeStream(loop, fd[0])));
        }
    }
    void kill_all() {
        for (pid_t p : process)
            kill(p, SIGKILL);
    }
    void end() {
        client.clear();
        for (pid_t p : process)
            waitpid(p, nullptr, 0);
    }
};

void call(const Mode &mode, Servers &servers, std::barrier<> &called, std::barrier<> &released) {
    for (auto &client : servers.client)
        if (client->ping(1) != 2)
            fail("a ping");
    called.arrive_and_wait();
    for (size_t i = 0; mode.is("incall") && i < servers.client.size(); i++) {
        try {
            servers.client[i]->die();
            fail("the end in a call");
        } catch (const std::exception &) { // as it should be: the connection is gone
        }
    }
    if (mode.releases())
        released.arrive_and_wait();
}

void run(const Mode &mode, Servers &servers) {
    std::barrier called(static_cast<ptrdiff_t>(mode.threads()) + 1),
        released(static_cast<ptrdiff_t>(mode.threads()) + 1);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < mode.threads(); i++)
        threads.emplace_back([&] { call(mode, servers, called, released); });
    called.arrive_and_wait();
    if (mode.is("early"))
        usleep(static_cast<useconds_t>(mode.us));
    if (mode.kills())
        servers.kill_all();
    if (mode.releases()) {
        usleep(static_cast<useconds_t>(mode.us));
        released.arrive_and_wait();
    }
    for (auto &t : threads)
        t.join();
}

void run_client(const Mode &mode) {
    std::promise<mp::EventLoop *> started;
    std::thread loop_thread([&] {
        mp::EventLoop loop("ipc-teardown", log);
        started.set_value(&loop);
        loop.loop();
    });
    mp::EventLoop *loop = started.get_future().get();
    mp::EventLoopRef reference{*loop};
    Servers servers;
    servers.start(*loop, mode.servers());
    run(mode, servers);
    servers.end();
    reference.reset();
    loop_thread.join();
}

bool is_known(const char *name) {
    for (const char *known : {"incall", "idle", "early", "many", "local"})
        if (!std::strcmp(name, known))
            return true;
    return false;
}

} // namespace

int main(int argc, char **argv) {
    alarm(LIMIT_SECONDS);
    if (argc == 3 && !std::strcmp(argv[1], "--server")) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve();
        return 0;
    }
    if (argc < 2 || argc > 3 || !is_known(argv[1])) {
        std::fprintf(stderr, "usage: %s incall|idle|early|many|local [MICROSECONDS]\n", argv[0]);
        return 2;
    }
    run_client({argv[1], argc == 3 ? std::atol(argv[2]) : 0});
    std::puts("holdpoint-workload: done");
    return 0;
}
