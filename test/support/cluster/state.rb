# frozen_string_literal: true

require "fileutils"
require "json"
require "securerandom"
require_relative "known_process"
require_relative "server_ports"

module Penstock
  module TestSupport
    # Persists a cluster's state between two commands: ports, and processes by number and start time. A file in the
    # cluster's folder, replaced as a whole.
    class ClusterState
      NODE_PORTS = %i[client internal controller public].freeze

      # @return [Hash]
      attr_reader :values

      # @param folder [String]
      def self.load(folder)
        new(folder, JSON.parse(File.read(path(folder)), symbolize_names: true))
      rescue Errno::ENOENT, JSON::ParserError
        nil
      end

      # @param brokers [Integer]
      def self.create(folder, brokers, home)
        ports = ServerPorts.take(brokers * NODE_PORTS.size + 1)
        nodes = (1..brokers).to_h do |id|
          [id.to_s.to_sym, {ports: NODE_PORTS.zip(ports.shift(NODE_PORTS.size)).to_h, process: nil}]
        end
        id = SecureRandom.urlsafe_base64(16).sub(/\A-/, "A") # an id that begins with a dash is taken for an option
        new(folder, {cluster_id: id, home: home, control_port: ports.shift, proxy: nil, nodes: nodes})
      end

      def self.path(folder) = File.join(folder, "cluster.json")

      def initialize(folder, values)
        @folder = folder
        @values = values
      end

      # @return [KnownProcess, nil]
      def process(*place) = @values.dig(*place)&.then { |pid, started| KnownProcess.new(pid, started) }

      def save
        FileUtils.mkdir_p(@folder)
        temporary = "#{self.class.path(@folder)}.new"
        File.write(temporary, JSON.pretty_generate(@values))
        File.rename(temporary, self.class.path(@folder))
      end
    end
  end
end
