# frozen_string_literal: true

# The bound of P2: this Ruby's JSON parser over the same strings, nothing else.
require "json"
require_relative "../probe"

strings = File.readlines(Probe["payloads"], chomp: true).map(&:b)
rounds = Probe["records"] / strings.size
cents = 0
PROBE.first
rounds.times { strings.each { |string| cents += JSON.parse(string)["cents"] } }
PROBE.finish({cents: cents}, records: rounds * strings.size)
