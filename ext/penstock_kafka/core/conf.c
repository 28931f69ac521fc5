#include "conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *pk_conf_table(size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);

  if (!out) return NULL;
  rd_kafka_conf_properties_show(out);
  if (fclose(out) != 0) {
    free(text);
    return NULL;
  }
  return text;
}

rd_kafka_resp_err_t pk_conf_trial(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error, size_t size) {
  rd_kafka_t *rk;

  /* Without a log callback the trial logs nothing: warnings come with the real
   * handle. */
  rd_kafka_conf_set_log_cb(conf, NULL);
  /* Otherwise SASL/GSSAPI runs kinit as soon as a handle exists. */
  rd_kafka_conf_set(conf, "sasl.kerberos.min.time.before.relogin", "0", NULL, 0);
  rk = rd_kafka_new(type, conf, error, size);
  if (!rk) {
    rd_kafka_resp_err_t err = rd_kafka_last_error();
    rd_kafka_conf_destroy(conf); /* a refused configuration still belongs to us */
    return err ? err : RD_KAFKA_RESP_ERR__INVALID_ARG;
  }
  rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}
