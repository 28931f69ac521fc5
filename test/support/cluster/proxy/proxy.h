/* A proxy in front of the brokers of a test cluster. One thread, one epoll: it accepts clients' connections, connects to the
 * broker of the port, and copies frames of Kafka's protocol in both directions. Rules, set over a control connection while it
 * runs, delay, drop, cut, corrupt or double single requests and responses, or turn an answer into an error; links (one per broker)
 * can be taken down, frozen or slowed.
 *
 * main.c: the loop. link.c: listeners and connections. flow.c: frames of one direction. queue.c: data waiting to be written.
 * rules.c: which frame gets which fault. control.c: the commands. */
#ifndef PROXY_H
#define PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINKS_MAX 16
#define RULES_MAX 64
#define NAME_MAX_BYTES 64
#define READ_BYTES (128 * 1024)
/* Bytes that may wait in one direction of a connection; above it the proxy stops reading, as a full socket buffer would. */
#define QUEUE_BYTES (512 * 1024)
#define HEAD_MAX 96
#define FLIPS_MAX 16

enum side { REQUEST = 0, RESPONSE = 1 };
enum source_kind { LISTENER, CLIENT_END, BROKER_END, CONTROL_LISTENER, CONTROL };
/* OPEN: listens. WAITING: the broker refuses; the port is closed until it answers. DOWN: closed until the mode is changed.
 * FROZEN: connections are open and no data pass. SWALLOW: everything is read and discarded. */
enum link_mode { OPEN, WAITING, DOWN, FROZEN, SWALLOW };
enum action { DELAY, DROP, RESET, CLOSE, CORRUPT, LIE, MUTE, TWICE, FAIL };

struct source {
  enum source_kind kind;
  void *owner;
};

struct chunk {
  struct chunk *next;
  int64_t due_us;
  size_t size, room, written;
  uint8_t bytes[];
};

struct queue {
  struct chunk *first, *last;
  size_t bytes;
  int64_t due_us; /* of the newest chunk: frames of one direction never overtake each other */
};

struct flow {
  struct queue queue;
  uint8_t head[HEAD_MAX];
  size_t head_have, head_need;
  uint64_t frame_left;
  uint64_t frame_position; /* of the next byte within its frame, the length included */
  int64_t cut_at;          /* bytes of the frame that are forwarded before the connection is reset; -1: none */
  bool swallow_frame, mute, raw, ended, shut;
  size_t flips;
  uint64_t flip_at[FLIPS_MAX];
  char flip_text[NAME_MAX_BYTES]; /* flip where these bytes are; empty: at flip_at */
  char fail_topic[NAME_MAX_BYTES]; /* its first partition gets fail_code; empty: none does */
  int16_t fail_code;
  struct queue copy; /* the frame once more, where it is to be sent twice */
  bool copying;
  int64_t frame_due_us;
};

struct expected {
  int32_t correlation;
  int16_t api;
};

struct link {
  int number;
  int port, target;
  int fd;
  enum link_mode mode;
  int64_t latency_us;
  int64_t rate; /* bytes a second and direction; 0: no limit */
  int64_t tokens[2];
  int64_t refilled_us, probe_us;
  struct source source;
  uint64_t accepted, frames[2], bytes[2];
  int open;
};

struct connection {
  struct connection *next, *previous;
  struct link *link;
  int fd[2]; /* the client's end, the broker's */
  uint32_t interest[2];
  struct source source[2];
  struct flow flow[2]; /* REQUEST: client to broker. RESPONSE: broker to client */
  char client[NAME_MAX_BYTES];
  bool connecting, dead;
  struct expected *expected;
  size_t expected_first, expected_count, expected_room;
};

struct rule {
  bool used;
  char id[NAME_MAX_BYTES];
  int link, api; /* -1: any */
  enum side side;
  char client[NAME_MAX_BYTES]; /* part of the client id; empty: any */
  long skip, times, permille;
  enum action action;
  long ms, bytes;
  bool head; /* corrupt the frame's first bytes, too */
  char text[NAME_MAX_BYTES]; /* corrupt only where the frame has these bytes; empty: anywhere. fail: the topic */
  int16_t code; /* fail: the error code */
  long hits;
};

extern struct link links[LINKS_MAX];
extern int link_count;
extern struct connection *connections;
extern int epoll_fd;

int64_t now_us(void);
uint64_t next_random(void);
void seed_random(uint64_t seed);
void die(const char *what) __attribute__((noreturn));

/* link.c */
struct link *link_numbered(int number);
void link_set_mode(struct link *link, enum link_mode mode);
void link_accept(struct link *link);
void link_probe(struct link *link);
void link_refill(struct link *link);
int connection_reset_matching(int link, const char *client);
void connection_readable(struct connection *connection, enum side side);
void connection_writable(struct connection *connection, int end);
void connection_end(struct connection *connection, bool reset);
void connection_update(struct connection *connection);
void connections_sweep(void);
int64_t connections_next_due(void);
void connections_flush_due(void);

/* flow.c: returns false when a fault ended the connection */
bool flow_take(struct connection *connection, enum side side, const uint8_t *bytes, size_t size);

/* queue.c */
void queue_add(struct queue *queue, const uint8_t *bytes, size_t size, int64_t due_us);
void queue_move(struct queue *from, struct queue *to, int64_t due_us);
void queue_free(struct queue *queue);
/* Writes what is due. -1: the socket failed; 0: all that was due is written; 1: the socket is full. */
int queue_write(struct queue *queue, int fd);

/* rules.c */
struct rule *rule_matching(struct connection *connection, enum side side, int16_t api);
const char *rule_set(int count, char **words);
int rule_remove(const char *id);
const struct rule *rule_numbered(int index);
const char *action_name(enum action action);

/* control.c */
void control_accept(int listener);
void control_readable(struct source *source);

#endif
