# frozen_string_literal: true

require_relative "../step"
require_relative "grace"

module Penstock
  module CLI
    module Doctor
      class Deployment
        # Checks a YAML file: Kubernetes pods anywhere in its documents (Deployment, StatefulSet, Job, a list of them),
        # Compose services, or roles of Kamal's deploy.yml. If some of them mention that they run `penstock`, the others are
        # ignored.
        class Manifest
          POD_DEFAULT_S = 30
          COMPOSE_DEFAULT_S = 10
          KAMAL_DEFAULT_S = 30
          PROBES = %w[startupProbe livenessProbe readinessProbe].freeze
          LOOPBACK = /\A(?:127\.|::1\z|localhost\z)/
          # Listen addresses that a container may be configured with.
          OPEN = ["0.0.0.0", "::", "status.podIP"].freeze
          private_constant :PROBES, :LOOPBACK, :OPEN

          # @param path [String]
          # @param text [String]
          # @param grace [Grace]
          # @param health_host [String, nil] where the application's health page listens, as configured here
          def initialize(path, text, grace, health_host = nil)
            @path = path
            @text = text
            @grace = grace
            @health_host = health_host
          end

          # @return [Array<Step>]
          def steps
            found = documents.flat_map do |document|
              services(document) || roles(document) || pods(document, document["kind"].to_s)
            end
            return [Step.skipped(@path, "has neither pods nor services nor roles")] if found.empty?
            ours(found).flat_map { |kind, name, what| send(kind, name, what) }
          rescue Psych::Exception => error
            [Step.failed(@path, "isn't YAML: #{error.message}", "render a template first (helm template, envsubst)")]
          end

          private

          def documents
            require "date"
            require "yaml"
            parts = @text.split(/^---(?:[ \t].*)?$/)
            parts.map { |part| YAML.safe_load(part, aliases: true, permitted_classes: [Date, Time]) }.grep(Hash)
          end

          def services(document)
            return if document["kind"] || !document["services"].is_a?(Hash)
            document["services"].map { |name, what| [:service, name, what.to_h] }
          end

          # A role that is a list of hosts runs the image's own command.
          def roles(document)
            return unless document["servers"].is_a?(Hash) && document.key?("image")
            document["servers"].map do |name, what|
              [:role, name, {**(what.is_a?(Hash) ? what : {}), "drain_timeout" => document["drain_timeout"]}]
            end
          end

          # @return [Array<Array>] nodes with containers, with the name of the object whose template they belong to
          def pods(node, name)
            return node.flat_map { |one| pods(one, name) } if node.is_a?(Array)
            return [] unless node.is_a?(Hash)
            name = "#{node["kind"] || name.split.first} #{node["metadata"]["name"]}" if node.dig("metadata", "name")
            return [[:pod, name, node]] if node["containers"].is_a?(Array)
            node.values.flat_map { |value| pods(value, name) }
          end

          def ours(found)
            named = found.select { |_kind, _name, what| (what["containers"] || [what]).any? { |one| penstock?(one) } }
            named.empty? ? found : named
          end

          def penstock?(container)
            container.values_at("command", "args", "entrypoint", "cmd").flatten.join(" ").include?("penstock")
          end

          def service(name, what)
            @grace.judge("#{@path}: #{name}", "stop_grace_period", what["stop_grace_period"], default_s: COMPOSE_DEFAULT_S,
              write: "stop_grace_period: %ds")
          end

          # Kamal passes it to `docker stop`, for containers without a proxy.
          def role(name, what)
            @grace.judge("#{@path}: #{name}", "drain_timeout", what["drain_timeout"], default_s: KAMAL_DEFAULT_S,
              write: "drain_timeout: %d, not under the role but next to `servers`")
          end

          def pod(name, spec)
            name = "#{@path}: #{name}"
            given = spec["terminationGracePeriodSeconds"]
            [@grace.judge(name, "terminationGracePeriodSeconds", given && Float(given), default_s: POD_DEFAULT_S,
              write: "terminationGracePeriodSeconds: %d"),
              *spec["containers"].flat_map { |container| container_steps(name, container) }]
          rescue ArgumentError, TypeError
            [Step.failed(name, "terminationGracePeriodSeconds #{given.inspect} is not a number", "write #{@grace.seconds}")]
          end

          def container_steps(name, container)
            [pre_stop(name, container), probe(name, container, "livenessProbe", "/live", "/"),
              probe(name, container, "readinessProbe", "/ready"), address(name, container)].compact
          end

          def pre_stop(name, container)
            return unless container.dig("lifecycle", "preStop")
            Step.warning(name, "preStop of #{container["name"]} runs before TERM and shortens the grace period; no " \
              "requests are routed to a consumer that it would have to wait for", "remove it")
          end

          # A probe of lag or group membership would restart a process that is only slow, or has no broker, which makes
          # it slower.
          def probe(name, container, kind, path, same = path)
            found = container.dig(kind, "httpGet", "path")
            return if [nil, path, same].include?(found)
            Step.warning(name, "#{kind} of #{container["name"]} asks #{found}", "#{path} is meant for it (config.health.port)")
          end

          # kubelet connects to the pod's address. The application may take its own from the environment, which in the
          # pod is the container's.
          def address(name, container)
            return unless @health_host && LOOPBACK.match?(@health_host) && asked_from_outside?(container) && !opened?(container)
            Step.warning(name,
              "probes of #{container["name"]} come from outside of the pod, and config.health.host is #{@health_host}",
              "set config.health.host to \"0.0.0.0\", or from the environment of the container")
          end

          def asked_from_outside?(container)
            asked = PROBES.filter_map { |kind| container.dig(kind, "httpGet") || container.dig(kind, "tcpSocket") }
            asked.any? { |where| !LOOPBACK.match?(where["host"].to_s) }
          end

          def opened?(container)
            given = Array(container["env"]).flat_map { |one| [one["value"], one.dig("valueFrom", "fieldRef", "fieldPath")] }
            (given & OPEN).any?
          end
        end
      end
    end
  end
end
