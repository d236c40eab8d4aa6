// A dumbbell in htsim: `htsim FILE SECONDS`. FILE has a line `link BPS DELAY_S CAPACITY ACCESS_BPS PACKET`
// and one for each flow, `flow CONTROLLER RTT_S START_S SSTHRESH`. Prints `result`, the data packets
// delivered and the processor time of the run in seconds, both from 1 s on, when all flows have started.
//
// htsim has one TCP, NewReno without SACK, and every flow uses it whatever its controller is.

#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "eventlist.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

namespace {

double CpuSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Link {
    uint64_t bps;
    double delay_s;
    uint64_t capacity;
    uint64_t access_bps;
    int packet;
};

simtime_picosec Picoseconds(double seconds) { return std::llround(seconds * 1e12); }

/// A link of one direction: a queue that sends at a rate, and a wire.
struct Wire {
    Wire(uint64_t bps, double delay_s, mem_b bytes, EventList& events)
        : queue(bps, bytes, events, nullptr), pipe(Picoseconds(delay_s), events) {}

    void Join(Route& route) {
        route.push_back(&queue);
        route.push_back(&pipe);
    }

    Queue queue;
    Pipe pipe;
};

/// A flow, its routes, and the four links that it does not share.
struct Flow {
    Flow(const Link& link, double delay_s, EventList& events)
        : source(nullptr, nullptr, events),
          access{{link.access_bps, delay_s, ENDLESS, events},
                 {link.access_bps, delay_s, ENDLESS, events},
                 {link.access_bps, delay_s, ENDLESS, events},
                 {link.access_bps, delay_s, ENDLESS, events}} {}

    static constexpr mem_b ENDLESS = 1'000'000'000'000;

    TcpSrc source;
    TcpSink sink;
    Route out;
    Route back;
    Wire access[4];
};

/// The dumbbell, and what has arrived. An event of its own reads the counters at 1 s.
class Dumbbell : public EventSource {
  public:
    Dumbbell(const Link& link, EventList& events)
        : EventSource(events, "mark"),
          m_link(link),
          m_forward(link.bps, link.delay_s, link.capacity * link.packet, events),
          m_reverse(link.bps, link.delay_s, link.capacity * link.packet, events),
          m_timers(timeFromMs(10), events) {
        events.sourceIsPending(*this, Picoseconds(1));
    }

    void Add(double rtt_s, double start_s, double ssthresh) {
        // What the bottleneck leaves of the round trip, over the four passages of the access.
        Flow& flow = m_flows.emplace_back(m_link, (rtt_s / 2 - m_link.delay_s) / 2, eventlist());
        flow.access[0].Join(flow.out);
        m_forward.Join(flow.out);
        flow.access[1].Join(flow.out);
        flow.out.push_back(&flow.sink);
        flow.access[2].Join(flow.back);
        m_reverse.Join(flow.back);
        flow.access[3].Join(flow.back);
        flow.back.push_back(&flow.source);
        flow.source.set_cwnd(2 * m_link.packet);
        flow.source.set_ssthresh(std::llround(ssthresh * m_link.packet));
        m_timers.registerTcp(flow.source);
        flow.source.connect(flow.out, flow.back, flow.sink, Picoseconds(start_s));
    }

    void doNextEvent() override {
        m_before = Delivered();
        m_begun_s = CpuSeconds();
    }

    void Print() {
        const double cpu_s = CpuSeconds() - m_begun_s;
        std::printf("result %llu %.6f\n", static_cast<unsigned long long>(Delivered() - m_before), cpu_s);
    }

  private:
    uint64_t Delivered() {
        uint64_t bytes = 0;
        for (Flow& flow : m_flows) bytes += flow.sink.cumulative_ack();
        return bytes / m_link.packet;
    }

    Link m_link;
    Wire m_forward;
    Wire m_reverse;
    TcpRtxTimerScanner m_timers;
    // Its elements stay where they are: routes and events point to them.
    std::deque<Flow> m_flows;
    uint64_t m_before = 0;
    double m_begun_s = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "wanted: htsim FILE SECONDS\n";
        return 2;
    }
    std::ifstream file(argv[1]);
    std::string word;
    Link link{};
    file >> word >> link.bps >> link.delay_s >> link.capacity >> link.access_bps >> link.packet;
    Packet::set_packet_size(link.packet);
    EventList& events = EventList::getTheEventList();
    events.setEndtime(Picoseconds(std::atof(argv[2])));
    Dumbbell dumbbell(link, events);
    std::string controller;
    double rtt_s, start_s, ssthresh;
    while (file >> word >> controller >> rtt_s >> start_s >> ssthresh) dumbbell.Add(rtt_s, start_s, ssthresh);
    while (events.doNextEvent()) {
    }
    dumbbell.Print();
    return 0;
}
