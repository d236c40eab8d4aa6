// A dumbbell in ns-3: `ns3 FILE SECONDS`. FILE has a line `link BPS DELAY_S CAPACITY ACCESS_BPS PACKET`
// and one for each flow, `flow CONTROLLER RTT_S START_S SSTHRESH`. Prints `result`, the data packets
// delivered and the processor time of the run in seconds, both from 1 s on, when all flows have started.

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

namespace {

using namespace ns3;

double CpuSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Link {
    uint64_t bps;
    double delay_s;
    uint32_t capacity;
    uint64_t access_bps;
    uint32_t packet;
};

struct Flow {
    std::string controller;
    double rtt_s;
    double start_s;
    double ssthresh;
};

std::string TypeOf(const std::string& controller) {
    if (controller == "cubic") return "ns3::TcpCubic";
    if (controller == "highspeed") return "ns3::TcpHighSpeed";
    if (controller == "reno") return "ns3::TcpLinuxReno";
    std::cerr << "ns-3 runs no " << controller << " here\n";
    std::exit(2);
}

/// The dumbbell, and what has arrived.
class Dumbbell {
  public:
    explicit Dumbbell(const Link& link) : m_link(link) {
        m_routers.Create(2);
        m_stack.SetRoutingHelper(m_routing);
        m_stack.Install(m_routers);
        auto between = Join(m_routers.Get(0), m_routers.Get(1), link.bps, link.delay_s, link.capacity);
        SendTo(m_routers.Get(0), between.GetAddress(1));
        SendTo(m_routers.Get(1), between.GetAddress(0));
    }

    void Add(const Flow& flow) {
        const auto& [source, goal] = Ends(flow.controller, flow.rtt_s);
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(goal, PORT));
        const uint32_t payload = m_link.packet - 40;
        bulk.SetAttribute("SendSize", UintegerValue(64 * payload));
        // The threshold is an attribute of the socket, which the application makes as it starts.
        const auto ssthresh = static_cast<uint32_t>(flow.ssthresh * payload);
        Simulator::Schedule(Seconds(flow.start_s) - NanoSeconds(1), [ssthresh] {
            Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(ssthresh));
        });
        bulk.Install(source).Start(Seconds(flow.start_s));
    }

    uint64_t Delivered() const {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < m_sinks.GetN(); ++i) {
            bytes += DynamicCast<PacketSink>(m_sinks.Get(i))->GetTotalRx();
        }
        return bytes / (m_link.packet - 40);
    }

  private:
    static constexpr uint16_t PORT = 5000;

    /// The hosts of a controller and a round trip, which its flows share: a router looks through all of its
    /// links for every packet, and with a thousand does little else.
    const std::pair<Ptr<Node>, Ipv4Address>& Ends(const std::string& controller, double rtt_s) {
        auto [place, is_new] = m_ends.try_emplace({controller, rtt_s});
        if (!is_new) return place->second;
        NodeContainer ends;
        ends.Create(2);
        m_stack.Install(ends);
        auto type = TypeIdValue(TypeId::LookupByName(TypeOf(controller)));
        ends.Get(0)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", type);
        // What the bottleneck leaves of the round trip, over the four passages of the access.
        const double delay_s = (rtt_s / 2 - m_link.delay_s) / 2;
        auto here = Join(ends.Get(0), m_routers.Get(0), m_link.access_bps, delay_s, 1000000);
        auto there = Join(m_routers.Get(1), ends.Get(1), m_link.access_bps, delay_s, 1000000);
        SendTo(ends.Get(0), here.GetAddress(1));
        SendTo(ends.Get(1), there.GetAddress(0));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
        auto sinks = sink.Install(ends.Get(1));
        sinks.Start(Seconds(0));
        m_sinks.Add(sinks);
        place->second = {ends.Get(0), there.GetAddress(1)};
        return place->second;
    }

    /// What is for nobody beside `node` goes to `next`, over its first link.
    void SendTo(Ptr<Node> node, Ipv4Address next) {
        m_routing.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(next, 1);
    }

    Ipv4InterfaceContainer Join(Ptr<Node> a, Ptr<Node> b, uint64_t bps, double delay_s, uint32_t capacity) {
        PointToPointHelper wire;
        wire.SetDeviceAttribute("DataRate", DataRateValue(DataRate(bps)));
        wire.SetDeviceAttribute("Mtu", UintegerValue(9000));
        wire.SetChannelAttribute("Delay", TimeValue(Seconds(delay_s)));
        wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize",
                      QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, capacity)));
        auto devices = wire.Install(a, b);
        auto interfaces = m_addresses.Assign(devices);
        // Packets wait in the device, not in a second queue before it.
        TrafficControlHelper().Uninstall(devices);
        m_addresses.NewNetwork();
        return interfaces;
    }

    Link m_link;
    NodeContainer m_routers;
    InternetStackHelper m_stack;
    Ipv4StaticRoutingHelper m_routing;
    Ipv4AddressHelper m_addresses{"10.0.0.0", "255.255.255.252"};
    ApplicationContainer m_sinks;
    std::map<std::pair<std::string, double>, std::pair<Ptr<Node>, Ipv4Address>> m_ends;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "wanted: ns3 FILE SECONDS\n";
        return 2;
    }
    std::ifstream file(argv[1]);
    Link link{};
    std::vector<Flow> flows;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        if (kind == "link") {
            words >> link.bps >> link.delay_s >> link.capacity >> link.access_bps >> link.packet;
        } else {
            Flow flow;
            words >> flow.controller >> flow.rtt_s >> flow.start_s >> flow.ssthresh;
            flows.push_back(flow);
        }
    }
    const uint32_t payload = link.packet - 40;
    double longest_s = 0;
    for (const Flow& flow : flows) longest_s = std::max(longest_s, flow.rtt_s);
    // Buffers never limit: twice what path and queue hold.
    const double in_flight = link.bps / 8.0 * longest_s + double(link.capacity) * link.packet;
    const auto buffer = static_cast<uint32_t>(std::min(2 * in_flight, 1e9));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    Dumbbell dumbbell(link);
    for (const Flow& flow : flows) dumbbell.Add(flow);
    Simulator::Stop(Seconds(std::atof(argv[2])));
    uint64_t before = 0;
    double begun_s = 0;
    Simulator::Schedule(Seconds(1), [&] {
        before = dumbbell.Delivered();
        begun_s = CpuSeconds();
    });
    Simulator::Run();
    const double cpu_s = CpuSeconds() - begun_s;
    std::printf("result %llu %.6f\n", static_cast<unsigned long long>(dumbbell.Delivered() - before), cpu_s);
    Simulator::Destroy();
    return 0;
}
