/* Links: a port that clients know and the broker to which it forwards. Connections: two sockets and the two directions between them. */
#define _GNU_SOURCE
#include "proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct link links[LINKS_MAX];
int link_count;
struct connection *connections;
static struct connection *ended;

struct link *link_numbered(int number) {
  for (int index = 0; index < link_count; index++) {
    if (links[index].number == number) return &links[index];
  }
  return NULL;
}

static struct sockaddr_in loopback(int port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void link_listen(struct link *link) {
  struct sockaddr_in address = loopback(link->port);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &link->source};
  int on = 1;

  if (link->fd >= 0) return;
  link->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  setsockopt(link->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(link->fd, (struct sockaddr *)&address, sizeof address) || listen(link->fd, 512)) die("listen");
  link->source = (struct source){LISTENER, link};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, link->fd, &event);
}

static void link_unlisten(struct link *link) {
  if (link->fd >= 0) close(link->fd);
  link->fd = -1;
}

void link_set_mode(struct link *link, enum link_mode mode) {
  link->mode = mode;
  if (mode == DOWN || mode == WAITING) link_unlisten(link);
  else link_listen(link);
  for (struct connection *one = connections, *next; one; one = next) {
    next = one->next;
    if (one->link != link) continue;
    if (mode == DOWN) connection_end(one, true);
    else connection_update(one);
  }
}

static int broker_connect(const struct link *link, bool wait) {
  struct sockaddr_in address = loopback(link->target);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (wait ? 0 : SOCK_NONBLOCK), 0);

  if (fd < 0) return -1;
  if (connect(fd, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) {
    close(fd);
    return -1;
  }
  return fd;
}

/* On the loopback a connection is accepted, or refused, at once. */
void link_probe(struct link *link) {
  int fd = broker_connect(link, true);

  link->probe_us = now_us();
  if (fd < 0) return;
  close(fd);
  link_set_mode(link, OPEN);
}

void link_refill(struct link *link) {
  int64_t now = now_us();
  int64_t more = link->rate * (now - link->refilled_us) / 1000000;

  link->refilled_us = now;
  for (int side = 0; side < 2; side++) {
    link->tokens[side] += more;
    if (link->tokens[side] > link->rate / 10) link->tokens[side] = link->rate / 10;
  }
  for (struct connection *one = connections; one; one = one->next) {
    if (one->link == link) connection_update(one);
  }
}

static void reset_socket(int fd) {
  struct linger linger = {.l_onoff = 1, .l_linger = 0};

  setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

static void watch(struct connection *connection, int end, enum source_kind kind) {
  struct epoll_event event = {.events = 0, .data.ptr = &connection->source[end]};
  int on = 1;

  setsockopt(connection->fd[end], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connection->source[end] = (struct source){kind, connection};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, connection->fd[end], &event);
}

static void connection_begin(struct link *link, int client, int broker) {
  struct connection *connection = calloc(1, sizeof *connection);

  if (!connection) die("calloc");
  connection->link = link;
  connection->fd[0] = client;
  connection->fd[1] = broker;
  connection->connecting = true;
  connection->next = connections;
  if (connections) connections->previous = connection;
  connections = connection;
  link->open++;
  watch(connection, 0, CLIENT_END);
  watch(connection, 1, BROKER_END);
  connection_update(connection);
}

void link_accept(struct link *link) {
  int client = accept4(link->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  int broker;

  if (client < 0) return;
  link->accepted++;
  broker = broker_connect(link, false);
  if (broker >= 0) {
    connection_begin(link, client, broker);
    return;
  }
  reset_socket(client);
  close(client);
}

void connection_end(struct connection *connection, bool reset) {
  if (connection->dead) return;
  connection->dead = true;
  for (int end = 0; end < 2; end++) {
    if (reset) reset_socket(connection->fd[end]);
    close(connection->fd[end]);
    queue_free(&connection->flow[end].queue);
    queue_free(&connection->flow[end].copy);
  }
  if (connection->previous) connection->previous->next = connection->next;
  else connections = connection->next;
  if (connection->next) connection->next->previous = connection->previous;
  connection->link->open--;
  connection->previous = NULL;
  connection->next = ended;
  ended = connection;
}

/* Events of this turn may still refer to what has ended in it. */
void connections_sweep(void) {
  while (ended) {
    struct connection *connection = ended;

    ended = connection->next;
    free(connection->expected);
    free(connection);
  }
}

int connection_reset_matching(int link, const char *client) {
  int count = 0;

  for (struct connection *one = connections, *next; one; one = next) {
    next = one->next;
    if ((link >= 0 && one->link->number != link) || !strstr(one->client, client)) continue;
    connection_end(one, true);
    count++;
  }
  return count;
}

static bool due(const struct flow *flow) { return flow->queue.first && flow->queue.first->due_us <= now_us(); }

static bool reads(const struct connection *connection, enum side side) {
  const struct flow *flow = &connection->flow[side];
  const struct link *link = connection->link;

  if (connection->connecting || flow->ended || link->mode == FROZEN) return false;
  return flow->queue.bytes < QUEUE_BYTES && (!link->rate || link->tokens[side] > 0);
}

/* The client's end (0) is read for requests and written for responses; the broker's end (1) the other way. */
void connection_update(struct connection *connection) {
  for (int end = 0; end < 2; end++) {
    const struct flow *out = &connection->flow[end == 0 ? RESPONSE : REQUEST];
    uint32_t interest = reads(connection, end == 0 ? REQUEST : RESPONSE) ? EPOLLIN : 0;
    struct epoll_event event = {.data.ptr = &connection->source[end]};

    if (connection->link->mode != FROZEN && due(out)) interest |= EPOLLOUT;
    if (end == 1 && connection->connecting) interest = EPOLLOUT;
    if (interest == connection->interest[end]) continue;
    event.events = connection->interest[end] = interest;
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, connection->fd[end], &event);
  }
}

/* When everything of an ended direction is written its end is passed on. */
static void write_out(struct connection *connection, enum side side) {
  struct flow *flow = &connection->flow[side];
  int end = side == REQUEST ? 1 : 0;

  if (connection->link->mode == FROZEN) return;
  if (queue_write(&flow->queue, connection->fd[end]) < 0) {
    connection_end(connection, true);
    return;
  }
  if (flow->ended && !flow->shut && !flow->queue.first) {
    flow->shut = true;
    shutdown(connection->fd[end], SHUT_WR);
  }
  if (connection->flow[0].shut && connection->flow[1].shut) connection_end(connection, false);
}

void connection_readable(struct connection *connection, enum side side) {
  static uint8_t bytes[READ_BYTES];
  struct flow *flow = &connection->flow[side];
  ssize_t size;

  if (!reads(connection, side)) return;
  size = read(connection->fd[side == REQUEST ? 0 : 1], bytes, sizeof bytes);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size < 0) {
    connection_end(connection, true);
    return;
  }
  if (size == 0) flow->ended = true;
  connection->link->tokens[side] -= size;
  if (size && !flow_take(connection, side, bytes, (size_t)size)) return;
  if (!connection->connecting) write_out(connection, side);
  if (!connection->dead) connection_update(connection);
}

static void connected(struct connection *connection) {
  struct link *link = connection->link;
  int error = 0;
  socklen_t size = sizeof error;

  getsockopt(connection->fd[1], SOL_SOCKET, SO_ERROR, &error, &size);
  if (!error) {
    connection->connecting = false;
    return;
  }
  connection_end(connection, true);
  if (error == ECONNREFUSED && link->mode == OPEN) link_set_mode(link, WAITING);
}

void connection_writable(struct connection *connection, int end) {
  if (end == 1 && connection->connecting) connected(connection);
  if (!connection->dead) write_out(connection, end == 1 ? REQUEST : RESPONSE);
  if (!connection->dead) connection_update(connection);
}

int64_t connections_next_due(void) {
  int64_t next = INT64_MAX;

  for (struct connection *one = connections; one; one = one->next) {
    for (int side = 0; side < 2; side++) {
      const struct chunk *first = one->flow[side].queue.first;

      if (first && !(one->interest[side == REQUEST ? 1 : 0] & EPOLLOUT) && first->due_us < next) next = first->due_us;
    }
  }
  return next;
}

void connections_flush_due(void) {
  for (struct connection *one = connections, *next; one; one = next) {
    next = one->next;
    for (int side = 0; side < 2 && !one->dead; side++) {
      if (due(&one->flow[side])) write_out(one, side);
    }
    if (!one->dead) connection_update(one);
  }
}
