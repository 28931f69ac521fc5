# frozen_string_literal: true

require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Prints a dump of the flight recorder, and whether the deciders of this version make the same decisions.
      class Replay < Command
        command "replay", "Shows a dump of the flight recorder and decides it again", usage: "FILE [options]", arguments: 1..1
        details <<~TEXT
          A server writes a dump on SIGTTIN, when it has to stop by force and when a poll loop fails; its log names the file.
          The command feeds the recorded inputs of each partition to the same code again, at the recorded times, and compares
          the decisions. It shows the first one that differs; the exit code is then 1. It needs neither a broker nor an
          application, and runs no application code.
        TEXT

        private

        def define(parser)
          parser.value(:lane, "--lane TOPIC/PARTITION", "only this partition, or only those of this topic")
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          require_relative "../replay/dump"
          require_relative "../replay/machine"
          require_relative "../replay/words"

          dump = CLI::Replay::Dump.read(words.first)
          machines = dump.select(options[:lane]).map { |lane| [lane, CLI::Replay::Machine.new(lane).run] }
          options[:json] ? say_json(facts(dump, machines)) : print_all(dump, machines)
          machines.all? { |_lane, machine| machine.difference.nil? } || ExitCodes::FAILED
        end

        def facts(dump, machines)
          {**dump.facts, lanes: machines.map { |lane, machine|
            {topic: lane["topic"], partition: lane["partition"], compared: machine.compared, began: machine.began&.number,
             left_out: machine.left_out,
             difference: machine.difference && difference(machine.difference), timeline: timeline(dump, machine)}
          }}
        end

        def difference(found)
          {entry: found.entry.number, what: found.what, recorded: found.recorded, replayed: found.replayed}
        end

        def timeline(dump, machine)
          machine.script.entries.filter_map do |entry|
            line = CLI::Replay::Words.call(entry)
            {entry: entry.number, at: dump.time(entry.at), what: line} if line
          end
        end

        def print_all(dump, machines)
          require_relative "../replay/summary"
          say(*CLI::Replay::Summary.new(dump, machines).lines)
          machines.each { |lane, machine| print_lane(dump, lane, machine) }
        end

        def print_lane(dump, lane, machine)
          gone = lane["overwritten"]
          say "", Printable.line("#{lane["topic"]}/#{lane["partition"]}#{" (#{gone} older entries are gone)" if gone.positive?}")
          differs = machine.difference&.entry&.number
          timeline(dump, machine).each { |row| say "#{(row[:entry] == differs) ? "!" : " "} #{row[:at]} #{row[:what]}" }
          say verdict(machine)
        end

        def verdict(machine)
          found = machine.difference
          return "  not decided again: #{machine.left_out}" if machine.left_out && machine.compared.zero?
          return "  nothing was compared: the recording has no entry to start from" unless machine.began
          rest = "; some decisions were not made again: #{machine.left_out}" if machine.left_out
          return "  #{machine.compared} decisions, all as recorded#{rest}" unless found
          recorded, replayed = [found.recorded, found.replayed].map { |value| Printable.inspect(value, nil) }
          "  DIFFERENT at entry #{found.entry.number}, #{found.what}:\n    recorded #{recorded}\n    replayed #{replayed}"
        end
      end
    end
  end
end
