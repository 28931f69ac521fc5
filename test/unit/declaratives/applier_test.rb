# frozen_string_literal: true

require "test_helper"
require "support/declared"
require "penstock/admin"
require "penstock/declaratives/applier"

module Penstock
  # Which requests a plan's steps become, and what a failure leaves.
  class DeclarativesApplierTest < TestCase
    include TestSupport::Declared

    # Records requests; raises for the names that it is given.
    class Cluster
      attr_reader :requests

      def initialize(refused = {})
        @refused = refused
        @requests = []
      end

      def create_topic(name, **options) = record(name, :create, options)
      def create_partitions(name, total) = record(name, :partitions, total)
      def alter_configs(resource) = record(resource.name, :configs, resource.operations)

      private

      def record(name, *request)
        raise @refused[name] if @refused[name]

        @requests << [name, *request]
      end
    end

    def plan
      Plan.of([wanted("new", config: {"retention.ms" => "9"}), wanted("more", partitions: 7),
        wanted("set", config: {"retention.ms" => "9"})],
        cluster(present("more"), present("set", config: {"retention.ms" => "5"})))
    end

    test "each step is one request" do
      admin = Cluster.new
      outcomes = Penstock::Declaratives::Applier.new(admin).call(plan)

      assert_equal [
        ["new", :create, {partitions: 6, replication_factor: 3, config: {"retention.ms" => "9"}}],
        ["more", :partitions, 7], ["set", :configs, [[:set, "retention.ms", "9"]]]
      ], admin.requests
      assert_equal [nil, nil, nil], outcomes.map(&:error)
    end

    test "a step that is refused is reported at once and doesn't keep the others from running" do
      [KafkaError.build(number: 44, name: "POLICY_VIOLATION", message: "no"), InvalidRequestError.new([])].each do |error|
        admin = Cluster.new("more" => error)
        seen = []
        Penstock::Declaratives::Applier.new(admin).call(plan) { |outcome| seen << [outcome.step.name, outcome.error] }

        assert_equal [["new", nil], ["more", error], ["set", nil]], seen
        assert_equal %w[new set], admin.requests.map(&:first)
      end
    end

    test "an error that is nobody's answer is raised" do
      assert_raises(ArgumentError) do
        Penstock::Declaratives::Applier.new(Cluster.new("more" => ArgumentError.new("defect"))).call(plan)
      end
    end
  end
end
