# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The cost of Rails' executor around a call of user code: with the hooks of Active Record and one `CurrentAttributes` class,
  # whose attribute each call sets.
  class Rails < Workload
    NAME = "RAILS"
    ALSO = %w[rails].freeze
    TITLE = "a call of user code in Rails' executor, with Active Record and one CurrentAttributes, beyond the call itself"
    GEMS = File.expand_path("../../vendor/rails", __dir__)
    CALLS = 200_000

    def columns = %w[us_a_call objects_a_call rails_us_a_call]

    def sides
      [Side.new(name: "Penstock", kind: :ours, settings: {}, measure: -> { measured })]
    end

    def figures(results)
      [
        at_most("the wrapper, a call", values(results, "Penstock", "us_a_call"), 30, "µs"),
        seen("`executor.wrap` alone, a call", values(results, "Penstock", "rails_us_a_call"), "µs")
      ]
    end

    private

    def measured
      raise "the gems of Rails are missing: `bin/test rails` installs them" unless File.directory?(GEMS)
      RubySide.run("penstock/rails.rb", {calls: scaled(CALLS), gems: GEMS})
    end
  end
end
