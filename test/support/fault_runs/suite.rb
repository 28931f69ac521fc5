# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "../child"
require_relative "../kafka_cluster"
require_relative "../runner/kafka"
require_relative "case"
require_relative "scene"

module Penstock
  module TestSupport
    module FaultRuns
      # Runs cases one after another: runs on a cluster that is started when the first one needs it, tests and commands
      # in processes of their own. Each part leaves a JSON file in tmp/ledger; one that failed also leaves its journals
      # there, and the command that repeats it. The caller closes it.
      class Suite
        FOLDER = File.expand_path("../../../tmp/ledger", __dir__)
        LIMIT_SECONDS = 3_600
        # Errors of brokers that don't start, or don't form a cluster again.
        NO_CLUSTER = [KafkaCluster::Error, ClusterTools::Error, ClusterAgent::Error, Wait::TimeoutError].freeze

        # The outcome of a part.
        Outcome = Struct.new(:name, :part, :round, :seed, :state, :seconds, :details, :text, keyword_init: true)

        # @param out [IO]
        # @param keep [Boolean] whether journals of passed parts stay, too
        # @param time [Float] of {Run}
        # @param cluster [KafkaCluster, nil] a running one, which is not stopped
        def initialize(out: $stdout, keep: false, time: 1.0, cluster: nil, folder: FOLDER)
          @out = out
          @keep = keep
          @time = time
          @given = cluster
          @folder = folder
          @kafka = Runner::Kafka.new(out)
          FileUtils.mkdir_p(folder)
        end

        # @param one [Case]
        # @param seed [Integer]
        # @param round [Integer]
        # @param only [String, nil] the name of one of its parts
        # @return [Array<Outcome>]
        def call(one, seed:, round: 1, only: nil)
          if one.missing
            return [note(Outcome.new(name: one.name, part: "-", round: round, seed: seed, state: :missing, seconds: 0,
              text: one.missing, details: {}))]
          end

          one.parts.select { |part| only.nil? || part.name == only }.map do |part|
            note(measure(one, part, seed, round))
          end
        end

        # @return [KafkaCluster]
        def cluster = @given || @cluster || start

        def close
          @cluster&.close
          @kafka.stop
        end

        private

        def start
          say("three brokers start")
          made = KafkaCluster.new(name: "ledger-#{::Process.pid}")
          @cluster = made.start
        ensure
          made.close if made && !@cluster
        end

        def measure(one, part, seed, round)
          say("", "== #{one.name}: #{part.name} (seed #{seed})")
          began = now
          state, details, text = outcome_of(one, part, seed, round)
          Outcome.new(name: one.name, part: part.name, round: round, seed: seed, state: state, seconds: (now - began).round(1),
            details: details, text: text)
        end

        # @return [(Symbol, Hash, String)]
        def outcome_of(one, part, seed, round)
          part.is_a?(RunPart) ? run(one, part, seed, round) : child(part)
        rescue *NO_CLUSTER => error
          [:failed, {error: error.class.name}, "  no healthy cluster: #{error.message[0, 4_000]}"]
        end

        def run(one, part, seed, round)
          obstacle = KafkaCluster.obstacle
          return [:skipped, {}, "no cluster: #{obstacle}"] if obstacle

          heal
          folder = File.join(@folder, "runs", "#{slug(one, part)}-#{seed}-#{round}")
          FileUtils.rm_rf(folder)
          judged(one, part, seed, folder)
        end

        # A cluster of the suite that doesn't heal is replaced, so that one case doesn't make the following ones fail.
        def heal
          cluster.heal
        rescue *NO_CLUSTER
          raise unless @cluster

          say("the cluster doesn't heal: its brokers end, and others start")
          @cluster.close
          @cluster = nil
          cluster
        end

        def judged(one, part, seed, folder)
          result = played(one, part, seed, folder)
          (result.passed? && !@keep) ? FileUtils.rm_rf(folder) : keep_logs(folder)
          [result.passed? ? :passed : :failed, result.to_h, result.to_s]
        rescue Scene::Skip => skip
          [:skipped, {}, "  #{skip.message}"]
        rescue => error
          [:failed, {error: error.class.name},
            "  #{error.class}: #{error.message[0, 4_000]}\n    #{error.backtrace.first(6).join("\n    ")}"]
        end

        # Its processes end with it, also on Ctrl-C.
        # @return [Result]
        def played(one, part, seed, folder)
          run = Run.new(one.name, cluster: cluster, seed: seed, folder: folder, out: @out, time: @time)
          Scene.new(run).instance_exec(&part.block)
          run.result(**part.options)
        ensure
          run&.close
        end

        # The logs of brokers and proxy belong to the journals of a run that failed.
        def keep_logs(folder)
          cluster.nodes.each { |id, node| FileUtils.cp(node.log_path, File.join(folder, "broker-#{id}.log")) }
          FileUtils.cp(File.join(cluster.folder, "proxy.log"), folder)
        end

        def child(part)
          return [:skipped, {}, "no Kafka"] if part.broker && ((part.broker == :one) ? @kafka.obstacle : KafkaCluster.obstacle)

          result = File.join(@folder, "child-#{::Process.pid}.json")
          FileUtils.rm_f(result)
          env = {**kafka(part), **part.env, "PENSTOCK_TEST_RESULT" => result}
          ended = Child.run(part.command, timeout: LIMIT_SECONDS, env: env)
          counts = File.exist?(result) ? JSON.parse(File.read(result)) : {}
          [state_of(ended, counts, part), counts.slice("passed", "failed", "skipped"), counted(counts, ended)]
        ensure
          FileUtils.rm_f(result) if result
        end

        def state_of(ended, counts, part)
          return :failed if !ended.success? || (counts.empty? && part.is_a?(TestPart))
          return :skipped if counts["passed"] == 0 && counts.fetch("skipped", {}).any?

          :passed
        end

        def counted(counts, ended)
          return "  #{ended}" if counts.empty?
          "  #{counts["passed"]} passed, #{counts["failed"].size} failed, #{counts["skipped"].values.sum} skipped"
        end

        def kafka(part)
          case part.broker
          when :one then @kafka.env
          when :cluster then {"KAFKA_BOOTSTRAP_SERVERS" => heal.bootstrap_servers, "KAFKA_HOME" => KafkaCluster.home.to_s}
          else {}
          end
        end

        def note(outcome)
          say(outcome.text) if outcome.text
          say("#{outcome.state} #{outcome.name} #{outcome.part}, #{outcome.seconds} s")
          say("again: bin/ledger #{again(outcome)} --seed #{outcome.seed}") if outcome.state == :failed
          path = File.join(@folder, "#{slug_of(outcome.name, outcome.part)}-#{outcome.round}.json")
          File.write(path, JSON.pretty_generate(outcome.to_h.except(:text).merge(at: Time.now.utc.to_s)))
          outcome
        end

        def again(outcome)
          return "soak --minutes #{outcome.part.to_f}" if outcome.name == "SOAK"
          "#{outcome.name} --part #{outcome.part.inspect}"
        end

        def slug(one, part) = slug_of(one.name, part.name)
        def slug_of(name, part) = "#{name} #{part}".downcase.gsub(/[^a-z0-9]+/, "-").delete_suffix("-")[0, 80]

        def say(*lines)
          @out.puts(*lines)
          @out.flush
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
