#include "mock.h"

#include "crash.h"

#include <stdio.h>
#include <stdlib.h>

/* The rd_kafka_t that runs the cluster. It logs nothing: tests query the broker
 * directly. */
static rd_kafka_t *mock_rk(char *error, size_t size) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_t *rk;

  rd_kafka_conf_set_log_cb(conf, NULL);
  rk = pk_client_new(RD_KAFKA_PRODUCER, conf, error, size);
  if (!rk) rd_kafka_conf_destroy(conf);
  return rk;
}

pk_mock_t *pk_mock_new(int brokers, char *error, size_t size) {
  rd_kafka_t *rk = mock_rk(error, size);
  rd_kafka_mock_cluster_t *cluster = rk ? rd_kafka_mock_cluster_new(rk, brokers) : NULL;
  pk_mock_t *mock = cluster ? calloc(1, sizeof *mock) : NULL;

  if (mock) {
    pk_handle_init(&mock->handle);
    mock->handle.rk = rk;
    mock->cluster = cluster;
    /* Without a controller, admin requests wait for one instead of being
     * refused. */
    rd_kafka_mock_set_controller_id(cluster, 1);
    return mock;
  }
  if (rk) snprintf(error, size, "the mock cluster can't be started: no memory, thread or port left");
  if (cluster) rd_kafka_mock_cluster_destroy(cluster);
  if (rk) rd_kafka_destroy(rk);
  return NULL;
}

void pk_mock_take_down(pk_mock_t *mock) {
  if (mock->cluster) rd_kafka_mock_cluster_destroy(mock->cluster);
  if (mock->handle.rk) rd_kafka_destroy(mock->handle.rk);
  mock->cluster = NULL;
  mock->handle.rk = NULL;
}

void pk_mock_free(pk_mock_t *mock) {
  if (!pk_inherited(&mock->handle)) {
    pk_mock_take_down(mock);
    pk_handle_destroy(&mock->handle);
  }
  free(mock);
}

rd_kafka_resp_err_t pk_mock_push_error_rtt(pk_mock_t *mock, int broker, int api_key, int error, int rtt_ms) {
  return rd_kafka_mock_broker_push_request_error_rtts(mock->cluster, broker, (int16_t)api_key, 1,
                                                      (rd_kafka_resp_err_t)error, rtt_ms);
}
