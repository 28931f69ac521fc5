# frozen_string_literal: true

require_relative "../command"
require_relative "../table"

module Penstock
  module CLI
    module Commands
      # Prints the state of the servers and swarms that this user runs on this machine.
      class Status < Command
        command "status", "Prints the state of running servers and swarms", usage: "[--pid N] [--json]"
        details <<~TEXT
          One row per process, in a swarm one per node. `shared` is the part of its memory that other processes share. Below the
          table are the topics that an open breaker holds and, with `config.lock_metrics`, what the worker threads did in the last
          minute. A process that doesn't answer within 5 s has the state `no_answer`. The exit code is 1 when no process runs, or
          a process or a node isn't live.
        TEXT

        WEDGED = %w[not_responding held_down].freeze
        HEADING = %w[pid what state live ready partitions running rss_mb pss_mb shared reason].freeze

        private

        def define(parser)
          parser.value(:pid, "--pid N", Integer, "only this server or swarm")
          parser.flag(:json, "--json", "as JSON")
        end

        def call(_words)
          require_relative "../control/memory"
          require_relative "../control/session"
          session = Control::Session.new(context.env, dir: context.dir)
          found = session.statuses(options[:pid])
          show(found)
          (found.all? { |status| live?(status) }) ? ExitCodes::OK : ExitCodes::FAILED
        end

        # A node that is booting has reported nothing yet.
        def live?(status)
          status[:live] && status.fetch(:nodes, []).none? do |node|
            WEDGED.include?(node[:state]) || node.dig(:health, :live) == false
          end
        end

        def show(found)
          return say_json(found) if options[:json]
          say Table.new(HEADING, found.flat_map { |status| [row(status, status), *nodes(status)] })
          found.each do |status|
            breakers(status).each { |pid, breaker| say held(pid, breaker, status[:pid]) }
            loads(status).each { |pid, load| say busy(pid, load) }
          end
        end

        # @return [Array<Array(Integer, Hash)>] each process that measures its workers, with their load
        def loads(status)
          nodes = status.fetch(:nodes, []).map { |node| [node[:pid], node.dig(:health, :load)] }
          [[status[:pid], status[:load]], *nodes].select(&:last)
        end

        def busy(pid, load)
          share = load[:lock_wait] && "; #{"about " if load[:estimated]}#{(100 * load[:lock_wait]).round} % of that time they " \
            "waited for Ruby's lock"
          "process #{pid}: #{load[:busy]} of #{load[:workers]} workers were busy in the last #{load[:over_ms] / 1_000} s#{share}"
        end

        # @return [Array<Array(Integer, Hash)>] open breakers, each with the process that has it
        def breakers(status)
          nodes = status.fetch(:nodes, []).flat_map do |node|
            (node.dig(:health, :breakers) || []).map { |breaker| [node[:pid], breaker] }
          end
          (status[:breakers] || []).map { |breaker| [status[:pid], breaker] } + nodes
        end

        def held(pid, breaker, asked)
          left = breaker[:left_ms]
          ends = left ? "for another #{[left, 0].max / 1_000} s at most" : "until a record succeeds"
          last = " (the last error: #{breaker[:error]})" unless [nil, breaker[:cause]].include?(breaker[:error])
          "process #{pid} has held #{breaker[:topics].join(", ")} for #{breaker[:held_ms] / 1_000} s because of " \
            "#{breaker[:cause]}#{last}, #{ends}: records wait, none is dead-lettered, one at a time is tried; " \
            "`penstock breaker close --pid #{asked}` ends it"
        end

        def nodes(status)
          status.fetch(:nodes, []).map do |node|
            row({pid: node[:pid], kind: "  node #{node[:node]}", state: node[:state], reason: node[:reason]}, node[:health] || {})
          end
        end

        def row(what, health)
          memory = Control::Memory.of(what[:pid])
          [what[:pid], what[:kind], what[:state], yes(health[:live]), yes(health[:ready]), health[:partitions], health[:running],
            memory.rss_mb, memory.pss_mb, memory.shared, what[:reason] || health[:reason]]
        end

        def yes(value) = {nil => nil, true => "yes", false => "no"}.fetch(value)
      end
    end
  end
end
