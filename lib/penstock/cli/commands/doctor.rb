# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Checks the installation, the configuration and, with `--connect`, the connection to the cluster step by step, so
      # that the report names the step at which a broker can't be reached.
      class Doctor < Command
        command "doctor", "Checks installation and configuration, and with --connect the connection to the cluster"
        details <<~TEXT
          A step is OK, FAILED (with a hint how to fix it), or a WARNING: it works, but something is lost. With --connect: DNS,
          TCP and TLS for each bootstrap server, then the login, then every topic and group of the application (ACLs).
          With --deploy: whether systemd units, Kubernetes manifests, Compose files and Dockerfiles leave a stop enough time,
          and whether probes can reach config.health.host. The exit code is 1 when a step failed.
        TEXT

        private

        def define(parser)
          Target.define(parser)
          parser.flag(:connect, "--connect", "also try to reach the cluster")
          parser.list(:deploy, "--deploy FILES", "files that define how the application is run")
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
