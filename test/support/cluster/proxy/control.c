/* The control connection: one command per line, one answer per line ("ok …" or "error …"). */
#define _GNU_SOURCE
#include "proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORDS_MAX 24
#define LINE_MAX_BYTES 1024
#define ANSWER_BYTES 8192

struct control {
  struct source source;
  int fd;
  size_t size;
  char line[LINE_MAX_BYTES];
};

static const char *const MODES[] = {"open", "waiting", "down", "frozen", "swallow"};

void control_accept(int listener) {
  struct control *control = calloc(1, sizeof *control);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = control};

  if (!control) die("calloc");
  control->source = (struct source){CONTROL, control};
  control->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, control->fd, &event);
}

static const char *link_setting(struct link *link, const char *name, const char *value) {
  if (!strcmp(name, "latency")) link->latency_us = atol(value) * 1000;
  else if (!strcmp(name, "rate")) link->rate = atol(value);
  else if (!strcmp(name, "mode")) {
    for (size_t mode = 0; mode < sizeof MODES / sizeof *MODES; mode++) {
      if (strcmp(MODES[mode], value)) continue;
      link_set_mode(link, (enum link_mode)mode);
      return NULL;
    }
    return "unknown mode";
  } else return "unknown setting";
  return NULL;
}

static const char *set_link(int count, char **words) {
  struct link *link = count ? link_numbered(atoi(words[0])) : NULL;
  const char *problem = NULL;

  if (!link) return "no such link";
  for (int word = 1; word < count && !problem; word++) {
    char *value = strchr(words[word], '=');

    if (!value) return "expected name=value";
    *value++ = 0;
    problem = link_setting(link, words[word], value);
  }
  if (link->rate) link_refill(link);
  else link_set_mode(link, link->mode);
  return problem;
}

static void describe(char *answer) {
  size_t at = (size_t)sprintf(answer, "ok");

  for (int index = 0; index < link_count; index++) {
    const struct link *link = &links[index];

    at += (size_t)snprintf(answer + at, ANSWER_BYTES - at, " link=%d,%s,%d,%llu,%llu,%llu,%llu,%llu", link->number,
                           MODES[link->mode], link->open, (unsigned long long)link->accepted,
                           (unsigned long long)link->frames[0], (unsigned long long)link->frames[1],
                           (unsigned long long)link->bytes[0], (unsigned long long)link->bytes[1]);
  }
  for (int index = 0; index < RULES_MAX; index++) {
    const struct rule *rule = rule_numbered(index);

    if (rule && at < ANSWER_BYTES - 128) {
      at += (size_t)snprintf(answer + at, ANSWER_BYTES - at, " rule=%s,%ld", rule->id, rule->hits);
    }
  }
}

static void answer(int count, char **words, char *text) {
  const char *problem = NULL;

  strcpy(text, "ok");
  if (!count) problem = "no command";
  else if (!strcmp(words[0], "rule")) problem = rule_set(count - 1, words + 1);
  else if (!strcmp(words[0], "unrule")) sprintf(text, "ok %d", rule_remove(count > 1 ? words[1] : "*"));
  else if (!strcmp(words[0], "link")) problem = set_link(count - 1, words + 1);
  else if (!strcmp(words[0], "seed")) seed_random(count > 1 ? strtoull(words[1], NULL, 10) : 1);
  else if (!strcmp(words[0], "stats")) describe(text);
  else if (!strcmp(words[0], "reset")) {
    int link = count > 1 && strcmp(words[1], "*") ? atoi(words[1]) : -1;

    sprintf(text, "ok %d", connection_reset_matching(link, count > 2 ? words[2] : ""));
  } else problem = "unknown command";
  if (problem) snprintf(text, ANSWER_BYTES, "error %s", problem);
}

static bool command(struct control *control, char *line) {
  static char text[ANSWER_BYTES];
  char *words[WORDS_MAX], *rest = NULL;
  int count = 0;

  for (char *word = strtok_r(line, " \r", &rest); word && count < WORDS_MAX; word = strtok_r(NULL, " \r", &rest)) {
    words[count++] = word;
  }
  answer(count, words, text);
  strcat(text, "\n");
  return send(control->fd, text, strlen(text), MSG_NOSIGNAL) > 0;
}

static void control_end(struct control *control) {
  close(control->fd);
  free(control);
}

void control_readable(struct source *source) {
  struct control *control = source->owner;
  ssize_t size = recv(control->fd, control->line + control->size, sizeof control->line - 1 - control->size, MSG_DONTWAIT);
  char *end;

  if (size <= 0) {
    control_end(control);
    return;
  }
  control->size += (size_t)size;
  control->line[control->size] = 0;
  while ((end = strchr(control->line, '\n'))) {
    size_t used = (size_t)(end - control->line) + 1;

    *end = 0;
    if (!command(control, control->line)) {
      control_end(control);
      return;
    }
    memmove(control->line, control->line + used, control->size - used + 1);
    control->size -= used;
  }
  if (control->size == sizeof control->line - 1) control->size = 0;
}
