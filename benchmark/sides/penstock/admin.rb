# frozen_string_literal: true

# Many groups with many commits, and their lags: over one connection, as `Penstock::Admin` is used in a process that stays.
require_relative "../probe"
require "penstock"
require "penstock/admin"

topic, groups, partitions = Probe["topic"], Probe["groups"], Probe["partitions"]
names = Array.new(groups) { |index| "bench-admin-#{index}" }
Penstock::Admin.open(Probe.kafka) do |admin|
  if Probe["fill"]
    rows = Array.new(partitions) { |partition| {topic: topic, partition: partition, offset: 0} }
    names.each { |group| admin.write_committed_offsets(group, rows) }
  end
  seconds = Array.new(6) do
    began = PROBE.now_ns
    lags = admin.group_lags(names)
    incomplete = lags.reject { |_group, found| found.is_a?(Array) && found.size == partitions }
    abort("no lags of #{incomplete.keys.first(3).join(", ")}") if incomplete.any?
    (PROBE.now_ns - began) / 1e9
  end
  PROBE.first
  PROBE.finish({lags_s: seconds.drop(1).sort[seconds.size / 2].round(3)}, records: groups * partitions) # the first warms up
end
