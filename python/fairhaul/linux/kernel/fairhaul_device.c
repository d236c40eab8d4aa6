// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The hosts of a run: a network device for each, and the samples of their senders.
 *
 * A packet that a host sends goes to the emulated network, a library in this program (fairhaul.h). A timer wakes at each
 * time at which something happens there, and packets that are due are received as a network card receives them: they
 * wait in a ring, a poll takes them out, and merges what waited together if the host merges. Time stands still while
 * this computes, so packets leave and arrive at the exact times of the network.
 *
 * A queue of the kernel in a link is a device, too. A packet that is due there is not received but sent, through the
 * queue discipline of the device, and what leaves it one by one goes on in the network, which knows it by its mark.
 *
 * /dev/fairhaul: writes are lines of the answer, reads are samples, requests are below. /dev/fairhaul-request is read,
 * /dev/fairhaul-record is written, /dev/fairhaul-network is read; /dev/fairhaul-terminal is the input and output of a
 * program.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/reboot.h>
#include <linux/rtnetlink.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <trace/events/skb.h>
#include <trace/events/tcp.h>
#include "fairhaul.h"

enum { MOST_HOSTS = 16, MOST_QUEUES = 16, LARGEST_PACKET = 65535, LARGEST_WRITE = 1 << 18, LARGEST_READ = 1 << 16 };
/* The room for a packet in half a page. */
enum { HALF_PAGE = 2048 - 320 - 64 };
/* What the card of a host holds, packets or bursts, as common drivers have by default. */
enum { CARD_RING = 512 };

/* The request that makes a device, in the network namespace of the caller. */
struct fairhaul_make {
	u32 host;
	u32 merges;	/* whether packets that arrive together are merged */
	u32 splits;	/* whether its card splits bursts of the kernel into packets */
	u32 unused;
	u64 moderation;	/* the least time between two interrupts of the card */
};

#define FAIRHAUL_MAKE _IOW('f', 1, struct fairhaul_make)
#define FAIRHAUL_START _IOW('f', 2, u64)
#define FAIRHAUL_LOST _IOR('f', 3, u64)
/* Ends the program, without the message that the kernel prints when a process does it. */
#define FAIRHAUL_END _IO('f', 4)

struct fairhaul_host {
	struct net_device *device;
	struct napi_struct napi;
	struct sk_buff_head received;	/* packets that wait for a poll */
	struct sk_buff_head sending;	/* packets whose bits have not all left the card */
	struct hrtimer interrupt;	/* the interrupt, if packets wait for it */
	struct hrtimer sent;		/* the time at which the first packet of `sending` has left */
	u32 number;
	bool merges;
	u64 moderation;
	u64 ready;			/* when the card may interrupt again */
};

static const struct fairhaul_path *path;
static struct fairhaul_host *hosts[MOST_HOSTS + MOST_QUEUES];
static struct hrtimer timer;
static u64 armed = FAIRHAUL_NEVER;

static void prepare(struct hrtimer *timer, enum hrtimer_restart (*act)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, act, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	timer->function = act;
#endif
}

static void start_at(struct hrtimer *timer, u64 time)
{
	hrtimer_start(timer, ns_to_ktime(time), HRTIMER_MODE_ABS_HARD);
}

/* How much of a packet is carried. */
static unsigned int carried(unsigned int length)
{
	return fairhaul_has_programs() ? length : min_t(unsigned int, length, FAIRHAUL_HEADERS);
}

/*
 * A packet in the buffers of a card: half a page for one of Ethernet's usual size, whole pages behind its headers for a
 * longer one, as common drivers have them. What a packet occupies limits the window that its receiver offers.
 */
static struct sk_buff *buffered(struct net_device *device, const struct fairhaul_packet *packet)
{
	unsigned int head = packet->length <= HALF_PAGE ? packet->length : FAIRHAUL_HEADERS, at;
	unsigned int valid = carried(packet->length);
	struct sk_buff *skb = netdev_alloc_skb(device, head);

	if (!skb)
		return NULL;
	memcpy(skb_put(skb, head), packet->bytes, min(head, valid));
	for (at = head; at < packet->length; at += PAGE_SIZE) {
		unsigned int length = min_t(unsigned int, packet->length - at, PAGE_SIZE);
		struct page *page = dev_alloc_page();

		if (!page) {
			kfree_skb(skb);
			return NULL;
		}
		if (at < valid)
			memcpy(page_address(page), packet->bytes + at, length);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, length, PAGE_SIZE);
	}
	return skb;
}

static bool is_queue(const struct fairhaul_host *host)
{
	return host->number >= MOST_HOSTS;
}

/* The card interrupts its host, which polls the packets that have waited. */
static void interrupt(struct fairhaul_host *host)
{
	host->ready = ktime_get_ns() + host->moderation;
	napi_schedule(&host->napi);
}

static enum hrtimer_restart interrupt_due(struct hrtimer *timer)
{
	interrupt(container_of(timer, struct fairhaul_host, interrupt));
	return HRTIMER_NORESTART;
}

/* A packet has reached its host. */
static void arrive(const struct fairhaul_packet *packet)
{
	struct fairhaul_host *host = packet->host < ARRAY_SIZE(hosts) ? hosts[packet->host] : NULL;
	struct sk_buff *skb;

	if (!host)
		return;
	skb = buffered(host->device, packet);
	if (!skb) {
		host->device->stats.rx_dropped++;
		return;
	}
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_IP);
	skb->mark = packet->mark;
	/* Nothing damages packets in here, so no card has to compute a sum and no host has to check it. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	__skb_queue_tail(&host->received, skb);
	if (hrtimer_active(&host->interrupt))
		return;
	if (ktime_get_ns() >= host->ready)
		interrupt(host);
	else
		start_at(&host->interrupt, host->ready);
}

/* Everything up to now happens in the network. Interrupts are off. */
static void advance(u64 now)
{
	u64 next = path->advance(now);
	struct fairhaul_packet packet;

	while (path->receive(&packet))
		arrive(&packet);
	if (next == armed)
		return;
	armed = next;
	if (next == FAIRHAUL_NEVER)
		hrtimer_try_to_cancel(&timer);
	else
		start_at(&timer, next);
}

static enum hrtimer_restart wake(struct hrtimer *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	armed = FAIRHAUL_NEVER;
	advance(ktime_get_ns());
	local_irq_restore(flags);
	return HRTIMER_NORESTART;
}

/* Until when a packet occupies the card. */
static u64 *leaves(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

/* The card has sent packets, and has room for others. */
static enum hrtimer_restart sent(struct hrtimer *timer)
{
	struct fairhaul_host *host = container_of(timer, struct fairhaul_host, sent);
	unsigned int packets = 0, bytes = 0;
	u64 now = ktime_get_ns();
	struct sk_buff *skb;

	while ((skb = skb_peek(&host->sending)) && *leaves(skb) <= now) {
		__skb_unlink(skb, &host->sending);
		packets++;
		bytes += skb->len;
		dev_consume_skb_irq(skb);
	}
	if (!is_queue(host))
		netdev_completed_queue(host->device, packets, bytes);
	netif_wake_queue(host->device);
	if (skb)
		start_at(timer, *leaves(skb));
	return HRTIMER_NORESTART;
}

static void occupy(struct fairhaul_host *host, struct sk_buff *skb, u64 left)
{
	*leaves(skb) = left;
	/* A link takes one packet at a time out of its queue, so that the others can still be dropped or marked. */
	if (!is_queue(host))
		netdev_sent_queue(host->device, skb->len);
	__skb_queue_tail(&host->sending, skb);
	if (host->sending.qlen == 1)
		start_at(&host->sent, left);
	if (is_queue(host) || host->sending.qlen >= CARD_RING)
		netif_stop_queue(host->device);
}

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *device)
{
	static u8 linear[LARGEST_PACKET];
	struct fairhaul_host *host = netdev_priv(device);
	const u8 *bytes = skb->data;
	unsigned long flags;
	u64 now, left;

	if (skb->len > LARGEST_PACKET) {
		device->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	local_irq_save(flags);
	if (skb_is_nonlinear(skb)) {
		skb_copy_bits(skb, 0, linear, carried(skb->len));
		bytes = linear;
	}
	now = ktime_get_ns();
	left = path->send(host->number, bytes, skb->len, skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : 0,
			  skb->mark, now);
	device->stats.tx_packets++;
	device->stats.tx_bytes += skb->len;
	advance(now);
	if (left > now)
		occupy(host, skb, left);
	local_irq_restore(flags);
	if (left <= now)
		consume_skb(skb);
	return NETDEV_TX_OK;
}

static void receive(struct fairhaul_host *host, struct sk_buff *skb)
{
	host->device->stats.rx_packets++;
	host->device->stats.rx_bytes += skb->len;
	if (host->merges)
		napi_gro_receive(&host->napi, skb);
	else
		netif_receive_skb(skb);
}

static int poll(struct napi_struct *napi, int budget)
{
	struct fairhaul_host *host = container_of(napi, struct fairhaul_host, napi);
	int done = 0;

	while (done < budget) {
		unsigned long flags;
		struct sk_buff *skb;

		local_irq_save(flags);
		skb = __skb_dequeue(&host->received);
		local_irq_restore(flags);
		if (!skb)
			break;
		if (is_queue(host)) {
			skb->ip_summed = CHECKSUM_NONE;
			dev_queue_xmit(skb);
		} else {
			receive(host, skb);
		}
		done++;
	}
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

static int open_device(struct net_device *device)
{
	struct fairhaul_host *host = netdev_priv(device);

	napi_enable(&host->napi);
	netif_start_queue(device);
	return 0;
}

static int stop_device(struct net_device *device)
{
	struct fairhaul_host *host = netdev_priv(device);

	netif_stop_queue(device);
	napi_disable(&host->napi);
	return 0;
}

static const struct net_device_ops device_operations = {
	.ndo_open = open_device,
	.ndo_stop = stop_device,
	.ndo_start_xmit = transmit,
};

/* A packet is freed that was not sent: if a queue had it, its discipline has dropped it. */
static void dropped(void *unused, const struct sk_buff *skb)
{
	const struct net_device *device = skb->dev;
	unsigned long flags;

	if (!skb->mark || !device || device->netdev_ops != &device_operations || !is_queue(netdev_priv(device)))
		return;
	local_irq_save(flags);
	path->dropped(skb->mark, ktime_get_ns());
	local_irq_restore(flags);
}

static void set_up(struct net_device *device)
{
	device->netdev_ops = &device_operations;
	device->type = ARPHRD_NONE;
	device->hard_header_len = 0;
	device->addr_len = 0;
	device->mtu = ETH_DATA_LEN;
	device->min_mtu = 68;
	device->max_mtu = LARGEST_PACKET;
	device->tx_queue_len = 1000;
	device->flags = IFF_POINTOPOINT | IFF_NOARP;
	device->features = device->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	device->needs_free_netdev = true;
}

static long make(const struct fairhaul_make *request)
{
	struct fairhaul_host *host;
	struct net_device *device;
	int error;

	if (request->host >= ARRAY_SIZE(hosts) || hosts[request->host])
		return -EINVAL;
	device = alloc_netdev(sizeof(*host), "lab%d", NET_NAME_ENUM, set_up);
	if (!device)
		return -ENOMEM;
	dev_net_set(device, current->nsproxy->net_ns);
	host = netdev_priv(device);
	host->device = device;
	host->number = request->host;
	host->merges = request->merges;
	host->moderation = request->moderation;
	if (request->splits)
		device->features = device->hw_features |= NETIF_F_TSO | NETIF_F_TSO_ECN;
	__skb_queue_head_init(&host->received);
	__skb_queue_head_init(&host->sending);
	prepare(&host->interrupt, interrupt_due);
	prepare(&host->sent, sent);
	netif_napi_add(device, &host->napi, poll);
	error = register_netdev(device);
	if (error) {
		free_netdev(device);
		return error;
	}
	hosts[host->number] = host;
	return 0;
}

/*
 * The state of a sender as each packet arrives, as the program of the lab at the same tracepoint samples it
 * (crates/ports/bpf/lab/tcp_probe.bpf.c); crates/host reads it by the offsets of its fields.
 */
struct fairhaul_sample {
	u64 at_ns;
	__be32 address;
	u32 cwnd;
	u32 ssthresh;
	u32 rtt_us;
	u16 timeouts;
	u8 state;
	u8 mode;
	u32 high_seq;
};

/* Samples that wait to be read, at most: those of 1 s at 100 Gbit/s of packets of 9000 bytes. */
enum { MOST_SAMPLES = 1 << 21 };
/* The last word of a port's state that says its mode, and what it begins with (crates/ports/bpf/fairhaul.bpf.h). */
enum { MODE_WORD = 12 };
#define MODE_MARK 0x6661697268617500ULL

static struct fairhaul_sample *samples;
static u64 written, taken, lost;

static struct fairhaul_sample *sample(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct fairhaul_sample *new;
	u64 word;

	/* A receiver has sent no data. */
	if (!tp->data_segs_out)
		return NULL;
	if (written - taken >= MOST_SAMPLES) {
		lost++;
		return NULL;
	}
	word = icsk->icsk_ca_priv[MODE_WORD];
	new = &samples[written++ % MOST_SAMPLES];
	*new = (struct fairhaul_sample) {
		.at_ns = ktime_get_ns(),
		.address = inet_sk(sk)->inet_saddr,
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.rtt_us = tp->rack.rtt_us,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
		.timeouts = tp->total_rto,
#endif
		.state = icsk->icsk_ca_state,
		.mode = (word & ~0xffULL) == MODE_MARK ? word + 1 : 0,
		.high_seq = tp->high_seq,
	};
	return new;
}

static void sample_at_packet(void *unused, const struct sock *sk, const struct sk_buff *skb)
{
	sample(sk);
}

/*
 * The retransmission timer has expired, and no packet arrives that would show it. The kernel has reduced the window
 * already, and counts the timeout after this; the sample before has the window until now.
 */
static void sample_at_state(void *unused, struct sock *sk, const u8 state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct fairhaul_sample *new;

	if (state != TCP_CA_Loss)
		return;
	if (inet_csk(sk)->icsk_ca_state != TCP_CA_Loss) {
		new = sample(sk);
		if (new) {
			new->cwnd = tp->prior_cwnd;
			new->ssthresh = tp->prior_ssthresh;
		}
	}
	new = sample(sk);
	if (new) {
		new->state = state;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
		new->timeouts++;
#endif
	}
}

static ssize_t read_samples(struct file *file, char __user *to, size_t size, loff_t *position)
{
	size_t done = 0;

	while (taken < written && size - done >= sizeof(*samples)) {
		if (copy_to_user(to + done, &samples[taken % MOST_SAMPLES], sizeof(*samples)))
			return -EFAULT;
		done += sizeof(*samples);
		taken++;
	}
	return done;
}

static ssize_t read_text(unsigned int text, char __user *to, size_t size, loff_t *position)
{
	const unsigned char *bytes;
	unsigned long flags, length;

	local_irq_save(flags);
	length = path->read(text, &bytes);
	local_irq_restore(flags);
	return simple_read_from_buffer(to, size, position, bytes, length);
}

static ssize_t write_text(unsigned int text, const char __user *from, size_t size)
{
	unsigned long flags;
	u8 *piece;
	int error;

	size = min_t(size_t, size, LARGEST_WRITE);
	piece = vmemdup_user(from, size);
	if (IS_ERR(piece))
		return PTR_ERR(piece);
	local_irq_save(flags);
	error = path->write(text, piece, size);
	local_irq_restore(flags);
	kvfree(piece);
	return error ? -error : (ssize_t)size;
}

static ssize_t write_answer(struct file *file, const char __user *from, size_t size, loff_t *position)
{
	return write_text(FAIRHAUL_ANSWERS, from, size);
}

static ssize_t write_record(struct file *file, const char __user *from, size_t size, loff_t *position)
{
	return write_text(FAIRHAUL_RECORD, from, size);
}

static ssize_t read_request(struct file *file, char __user *to, size_t size, loff_t *position)
{
	return read_text(FAIRHAUL_REQUEST, to, size, position);
}

static ssize_t write_output(struct file *file, const char __user *from, size_t size, loff_t *position)
{
	return write_text(FAIRHAUL_OUTPUT, from, size);
}

/* The clock stands still while this waits. */
static ssize_t read_input(struct file *file, char __user *to, size_t size, loff_t *position)
{
	unsigned long flags;
	long length;
	u8 *bytes;

	size = min_t(size_t, size, LARGEST_READ);
	bytes = kmalloc(size, GFP_KERNEL);
	if (!bytes)
		return -ENOMEM;
	local_irq_save(flags);
	length = path->input(bytes, size);
	local_irq_restore(flags);
	if (length > 0 && copy_to_user(to, bytes, length))
		length = -EFAULT;
	kfree(bytes);
	return length;
}

static ssize_t read_network(struct file *file, char __user *to, size_t size, loff_t *position)
{
	return read_text(FAIRHAUL_NETWORK, to, size, position);
}

static long control(struct file *file, unsigned int request, unsigned long argument)
{
	void __user *user = (void __user *)argument;
	struct fairhaul_make asked;
	unsigned long flags;
	u64 origin;

	switch (request) {
	case FAIRHAUL_MAKE:
		return copy_from_user(&asked, user, sizeof(asked)) ? -EFAULT : make(&asked);
	case FAIRHAUL_START:
		if (copy_from_user(&origin, user, sizeof(origin)))
			return -EFAULT;
		local_irq_save(flags);
		path->start(origin);
		local_irq_restore(flags);
		return 0;
	case FAIRHAUL_LOST:
		return copy_to_user(user, &lost, sizeof(lost)) ? -EFAULT : 0;
	case FAIRHAUL_END:
		machine_power_off();
		return 0;
	default:
		return -ENOTTY;
	}
}

static const struct file_operations control_file = {
	.owner = THIS_MODULE, .read = read_samples, .write = write_answer, .unlocked_ioctl = control,
};
static const struct file_operations request_file = { .owner = THIS_MODULE, .read = read_request };
static const struct file_operations record_file = { .owner = THIS_MODULE, .write = write_record };
static const struct file_operations terminal_file = {
	.owner = THIS_MODULE, .read = read_input, .write = write_output,
};
static const struct file_operations network_file = { .owner = THIS_MODULE, .read = read_network };

static struct miscdevice files[] = {
	{ .minor = MISC_DYNAMIC_MINOR, .name = "fairhaul", .fops = &control_file },
	{ .minor = MISC_DYNAMIC_MINOR, .name = "fairhaul-request", .fops = &request_file },
	{ .minor = MISC_DYNAMIC_MINOR, .name = "fairhaul-record", .fops = &record_file },
	{ .minor = MISC_DYNAMIC_MINOR, .name = "fairhaul-network", .fops = &network_file },
	{ .minor = MISC_DYNAMIC_MINOR, .name = "fairhaul-terminal", .fops = &terminal_file },
};

static int __init begin(void)
{
	int error, file;

	path = fairhaul_path();
	if (!path)
		return 0;
	prepare(&timer, wake);
	samples = vmalloc(MOST_SAMPLES * sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	for (file = 0; file < ARRAY_SIZE(files); file++) {
		error = misc_register(&files[file]);
		if (error)
			return error;
	}
	/* Versions differ in what they declare constant, and in the last arguments. */
	error = register_trace_kfree_skb((void *)dropped, NULL);
	error = error ? error : register_trace_tcp_cong_state_set((void *)sample_at_state, NULL);
	return error ? error : register_trace_tcp_probe((void *)sample_at_packet, NULL);
}
late_initcall(begin);
