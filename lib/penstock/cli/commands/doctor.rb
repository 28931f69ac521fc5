# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Looks at installation, configuration and, with `--connect`, the way to the cluster step by step, so that a broker
      # that can't be reached says at which step.
      class Doctor < Command
        command "doctor", "Checks installation and configuration, and with --connect the way to the cluster"
        details <<~TEXT
          Each step is OK, FAILED with the way out, or a warning where something works but is lost. With --connect: DNS,
          TCP and TLS for each bootstrap server, then the login, then every topic and group of the application (ACLs).
          With --deploy: whether units of systemd, manifests of Kubernetes, Compose files and Dockerfiles leave a stop the
          time it may take, and whether probes reach config.health.host. Exit code 1 when a step failed.
        TEXT

        private

        def define(parser)
          Target.define(parser)
          parser.flag(:connect, "--connect", "also try to reach the cluster")
          parser.list(:deploy, "--deploy FILES", "files that say how the application is run")
          parser.flag(:json, "--json", "as JSON")
        end

        def call(_words)
          require_relative "../doctor"

          steps = CLI::Doctor::Examination.new(Target.new(context, options), connect: options[:connect],
            deploy: options.fetch(:deploy, []), dir: context.dir).steps
          options[:json] ? say_json(steps.map(&:to_h)) : print_steps(steps)
          steps.any?(&:failed?) ? ExitCodes::FAILED : ExitCodes::OK
        end

        WORDS = {ok: "OK", failed: "FAILED", warning: "WARNING", skipped: "skipped"}.freeze

        def print_steps(steps)
          width = steps.map { |step| step.name.size }.max
          steps.each do |step|
            first, *others = [*Printable.lines(step.detail).lines(chomp: true), *step.hint].reject(&:empty?)
            say "#{WORDS.fetch(step.state).ljust(7)}  #{Printable.line(step.name).ljust(width)}  #{first}"
            others.each { |line| say "#{" " * (width + 11)}#{line}" }
          end
        end
      end
    end
  end
end
