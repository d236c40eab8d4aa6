/* A sender and a receiver of datagrams that read the clock of the system, and misuses of both, for tests/test_programs.py. */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1200, INTERVAL_US = 2000 };

static struct sockaddr_in end(const char *variable, int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, getenv(variable), &at.sin_addr);
	return at;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Sends a datagram every 2 ms by the clock, each with the time and a length that depends on the time since the last one. */
static int send_for(int socket, double seconds)
{
	struct sockaddr_in peer = end("FAIRHAUL_PEER", atoi(getenv("FAIRHAUL_PORT")));
	double begun = now_s(), last = begun;
	char packet[SIZE] = { 0 };

	for (long number = 0; now_s() - begun < seconds; number++) {
		double now = now_s();
		size_t length = SIZE - (size_t)((now - last) * 1e9) % 100;

		memcpy(packet, &now, sizeof(now));
		if (sendto(socket, packet, length, 0, (struct sockaddr *)&peer, sizeof(peer)) < 0)
			return 1;
		last = now;
		usleep(INTERVAL_US);
	}
	return 0;
}

/* Answers each datagram with its first bytes. */
static int answer(int socket)
{
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	char packet[SIZE];

	while (recvfrom(socket, packet, SIZE, 0, (struct sockaddr *)&from, &length) >= 0)
		sendto(socket, packet, sizeof(double), 0, (struct sockaddr *)&from, length);
	return 1;
}

int main(int count, char **words)
{
	int is_receiver = count == 2 && !strcmp(words[1], "receive");
	struct sockaddr_in own = end("FAIRHAUL_ADDRESS", is_receiver ? atoi(getenv("FAIRHAUL_PORT")) : 0);
	int udp = socket(AF_INET, SOCK_DGRAM, 0);

	if (udp < 0 || bind(udp, (struct sockaddr *)&own, sizeof(own)))
		return 1;
	if (is_receiver)
		return answer(udp);
	if (count == 3 && !strcmp(words[1], "send"))
		return send_for(udp, atof(words[2]));
	fprintf(stderr, "wanted: send SECONDS, or receive\n");
	return 2;
}
