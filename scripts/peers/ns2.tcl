# A dumbbell in ns-2: `ns ns2.tcl FILE SECONDS`. FILE has a line `link BPS DELAY_S CAPACITY ACCESS_BPS PACKET`
# and one for each flow, `flow CONTROLLER RTT_S START_S SSTHRESH`. Prints `result`, the data packets
# delivered and the processor time of the run in seconds, both from 1 s on, when all flows have started.

proc cpu_s {} {
    set file [open /proc/self/stat]
    set fields [split [string range [set line [read $file]] [string last ")" $line] end]]
    close $file
    # User and system time, in ticks of 10 ms.
    return [expr {([lindex $fields 12] + [lindex $fields 13]) / 100.0}]
}

# The sender of a controller: SACK recovery in all of them.
proc sender {controller} {
    switch $controller {
        cubic { return [new Agent/TCP/Linux] }
        highspeed {
            set tcp [new Agent/TCP/Sack1]
            $tcp set windowOption_ 8
            return $tcp
        }
        reno { return [new Agent/TCP/Sack1] }
        default { error "ns-2 runs no $controller here" }
    }
}

proc delivered {} {
    global senders
    set sum 0
    foreach tcp $senders { set sum [expr {$sum + [$tcp set ack_] + 1}] }
    return $sum
}

proc mark {} {
    global begun
    set begun [list [delivered] [cpu_s]]
}

proc finish {} {
    global begun
    # ns-2 itself has printed without an end of line.
    lassign $begun before begun_s
    puts "\nresult [expr {[delivered] - $before}] [expr {[cpu_s] - $begun_s}]"
    exit 0
}

# A link whose queue holds `limit` packets, both ways.
proc wire {from to rate delay limit} {
    global ns
    $ns duplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to $limit
    $ns queue-limit $to $from $limit
}

# `node` sends what is for `goal` by `next`; without a goal, everything else.
proc route {node next {goal ""}} {
    global ns
    if {$goal eq ""} {
        [$node get-module "Manual"] add-route-to-adj-node -default $next
    } else {
        $node add-route [$goal id] [[$ns link $node $next] head]
    }
}

set ns [new Simulator]
$ns rtproto Manual
Agent/TCP set window_ 10000000
Agent/TCP set maxcwnd_ 0
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set timestamps_ true
Agent/TCPSink set ts_echo_rfc1323_ true

set file [open [lindex $argv 0]]
set senders {}
while {[gets $file line] >= 0} {
    if {[lindex $line 0] eq "link"} {
        lassign $line _ bps link_delay capacity access packet
        Agent/TCP set packetSize_ [expr {$packet - 40}]
        set left [$ns node]
        set right [$ns node]
        wire $left $right $bps $link_delay $capacity
        route $left $right
        route $right $left
        continue
    }
    lassign $line _ controller rtt start ssthresh
    set source [$ns node]
    set goal [$ns node]
    # What the bottleneck leaves of the round trip, over the four passages of the access.
    set delay [expr {($rtt / 2.0 - $link_delay) / 2.0}]
    wire $source $left $access $delay 1000000
    wire $right $goal $access $delay 1000000
    route $source $left
    route $goal $right
    route $left $source $source
    route $right $goal $goal
    set tcp [sender $controller]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $source $tcp
    $ns attach-agent $goal $sink
    $ns connect $tcp $sink
    if {$controller eq "cubic"} {
        $ns at 0 "$tcp select_ca cubic"
        $ns at 0 "$tcp set_ca_default_param cubic initial_ssthresh [expr {int($ssthresh)}]"
    } else {
        # A sender forgets the threshold that it is given before its first acknowledgement.
        $ns at [expr {$start + 1.5 * $rtt}] "$tcp set ssthresh_ $ssthresh"
    }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    lappend senders $tcp
}
close $file
$ns at 1.0 mark
$ns at [lindex $argv 1] finish
$ns run
