/* proxy CONTROL_PORT NUMBER:PORT:TARGET…: listens on 127.0.0.1 at each PORT and forwards to TARGET. Writes a line for each fault to
 * standard output: monotonic time in µs, rule, link, client id, action, API key. Ends by a signal. */
#define _GNU_SOURCE
#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 128
#define IDLE_MS 1000
#define RATE_MS 5
#define PROBE_MS 100

int epoll_fd;
static uint64_t random_state = 88172645463325252ull;
static struct source control_source;
static int control_fd;

void die(const char *what) {
  fprintf(stderr, "proxy: %s: %s\n", what, strerror(errno));
  exit(1);
}

int64_t now_us(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

void seed_random(uint64_t seed) { random_state = seed * 0x9E3779B97F4A7C15ull | 1; }

static void add_link(const char *text) {
  struct link *link = &links[link_count];

  if (link_count == LINKS_MAX) die("too many links");
  *link = (struct link){.fd = -1, .mode = WAITING};
  if (sscanf(text, "%d:%d:%d", &link->number, &link->port, &link->target) != 3) die("NUMBER:PORT:TARGET");
  link_count++;
}

static void listen_for_control(int port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &control_source};
  int on = 1;

  control_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(control_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(control_fd, (struct sockaddr *)&address, sizeof address) || listen(control_fd, 16)) die("control port");
  control_source = (struct source){CONTROL_LISTENER, NULL};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, control_fd, &event);
}

static void happened(const struct epoll_event *event) {
  struct source *source = event->data.ptr;
  struct connection *connection = source->owner;
  int end = source->kind == BROKER_END;

  switch (source->kind) {
    case LISTENER: link_accept(source->owner); return;
    case CONTROL_LISTENER: control_accept(control_fd); return;
    case CONTROL: control_readable(source); return;
    default: break;
  }
  if (connection->dead) return;
  if (event->events & EPOLLOUT) connection_writable(connection, end);
  if (!connection->dead && event->events & EPOLLIN) connection_readable(connection, end ? RESPONSE : REQUEST);
  if (!connection->dead && event->events & (EPOLLERR | EPOLLHUP) && !(event->events & (EPOLLIN | EPOLLOUT))) {
    connection_end(connection, event->events & EPOLLERR);
  }
}

static int wait_ms(void) {
  int64_t due = connections_next_due(), now = now_us();
  int64_t wait = IDLE_MS;

  if (due != INT64_MAX) wait = due <= now ? 0 : (due - now + 999) / 1000;
  if (wait > IDLE_MS) wait = IDLE_MS;
  for (int index = 0; index < link_count; index++) {
    if (links[index].rate && wait > RATE_MS) wait = RATE_MS;
    if (links[index].mode == WAITING && wait > PROBE_MS) wait = PROBE_MS;
  }
  return (int)wait;
}

static void look_after_links(void) {
  for (int index = 0; index < link_count; index++) {
    struct link *link = &links[index];

    if (link->rate) link_refill(link);
    if (link->mode == WAITING && now_us() - link->probe_us >= PROBE_MS * 1000) link_probe(link);
  }
}

static void turn(void) {
  struct epoll_event events[EVENTS];
  int count = epoll_wait(epoll_fd, events, EVENTS, wait_ms());

  for (int index = 0; index < count; index++) happened(&events[index]);
  connections_flush_due();
  look_after_links();
  connections_sweep();
}

int main(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: proxy CONTROL_PORT NUMBER:PORT:TARGET…\n");
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOLBF, 0);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  listen_for_control(atoi(arguments[1]));
  for (int index = 2; index < count; index++) add_link(arguments[index]);
  for (;;) turn();
}
