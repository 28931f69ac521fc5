# frozen_string_literal: true

module Bench
  # One contestant of a workload: how its process is started and with which settings. `kind` is :ours, :peer or :bound
  # (the best that the machine can do: C, Java's fetch, bare threads). `measure` runs one new process and returns a Hash
  # of figures.
  Side = Struct.new(:name, :kind, :settings, :measure, keyword_init: true)
end
