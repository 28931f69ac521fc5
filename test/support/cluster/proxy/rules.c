/* Rules: which frame gets which fault. The first rule that matches and isn't used up applies. */
#include "proxy.h"

#include <stdlib.h>
#include <string.h>

static struct rule rules[RULES_MAX];
static const char *const ACTIONS[] = {"delay", "drop", "reset", "close", "corrupt", "lie", "mute", "twice", "fail"};

const char *action_name(enum action action) { return ACTIONS[action]; }

const struct rule *rule_numbered(int index) { return index < RULES_MAX && rules[index].used ? &rules[index] : NULL; }

static bool fits(const struct rule *rule, const struct connection *connection, enum side side, int16_t api) {
  if (!rule->used || rule->side != side || (rule->times && rule->hits >= rule->times)) return false;
  if (rule->link >= 0 && rule->link != connection->link->number) return false;
  if (rule->api >= 0 && rule->api != api) return false;
  return !*rule->client || strstr(connection->client, rule->client);
}

struct rule *rule_matching(struct connection *connection, enum side side, int16_t api) {
  for (int index = 0; index < RULES_MAX; index++) {
    struct rule *rule = &rules[index];

    if (!fits(rule, connection, side, api)) continue;
    if (rule->skip) {
      rule->skip--;
      continue;
    }
    if (rule->permille < 1000 && (long)(next_random() % 1000) >= rule->permille) continue;
    rule->hits++;
    return rule;
  }
  return NULL;
}

static int find(const char *id) {
  for (int index = 0; index < RULES_MAX; index++) {
    if (rules[index].used && !strcmp(rules[index].id, id)) return index;
  }
  return -1;
}

static int place(const char *id) {
  int index = find(id);

  for (int free = 0; index < 0 && free < RULES_MAX; free++) {
    if (!rules[free].used) index = free;
  }
  return index;
}

static bool set_action(struct rule *rule, const char *name) {
  for (size_t index = 0; index < sizeof ACTIONS / sizeof *ACTIONS; index++) {
    if (strcmp(ACTIONS[index], name)) continue;
    rule->action = (enum action)index;
    return true;
  }
  return false;
}

static bool set(struct rule *rule, const char *name, const char *value) {
  long number = atol(value);

  if (!strcmp(name, "link")) rule->link = *value == '*' ? -1 : (int)number;
  else if (!strcmp(name, "api")) rule->api = *value == '*' ? -1 : (int)number;
  else if (!strcmp(name, "side")) rule->side = strcmp(value, "response") ? REQUEST : RESPONSE;
  else if (!strcmp(name, "client")) strncpy(rule->client, value, sizeof rule->client - 1);
  else if (!strcmp(name, "skip")) rule->skip = number;
  else if (!strcmp(name, "times")) rule->times = number;
  else if (!strcmp(name, "permille")) rule->permille = number;
  else if (!strcmp(name, "ms")) rule->ms = number;
  else if (!strcmp(name, "bytes")) rule->bytes = number;
  else if (!strcmp(name, "head")) rule->head = number;
  else if (!strcmp(name, "text")) strncpy(rule->text, value, sizeof rule->text - 1);
  else if (!strcmp(name, "code")) rule->code = (int16_t)number;
  else if (!strcmp(name, "do")) return set_action(rule, value);
  else return false;
  return true;
}

/* words: the rule's name, then name=value each. */
const char *rule_set(int count, char **words) {
  struct rule rule = {.used = true, .link = -1, .api = -1, .permille = 1000, .action = DELAY};
  int index;

  if (count < 1) return "a rule needs a name";
  strncpy(rule.id, words[0], sizeof rule.id - 1);
  for (int word = 1; word < count; word++) {
    char *value = strchr(words[word], '=');

    if (!value) return "expected name=value";
    *value++ = 0;
    if (!set(&rule, words[word], value)) return "unknown name or value";
  }
  if ((index = place(rule.id)) < 0) return "too many rules";
  rules[index] = rule;
  return NULL;
}

int rule_remove(const char *id) {
  int removed = 0;

  for (int index = 0; index < RULES_MAX; index++) {
    if (!rules[index].used || (strcmp(id, "*") && strcmp(id, rules[index].id))) continue;
    rules[index].used = false;
    removed++;
  }
  return removed;
}
