# frozen_string_literal: true

require "fileutils"

module Penstock
  module TestSupport
    module FaultRuns
      # Gives a broker a file system of its own (tmpfs) that can be filled. Needs root; the broker restarts before and after.
      class FullDisk
        ROOM = 60 << 20

        # @param cluster [KafkaCluster]
        # @param broker [Integer]
        # @yieldparam [FullDisk]
        def self.on(cluster, broker)
          disk = new(cluster, broker)
          disk.mount
          yield disk
        ensure
          disk&.unmount
        end

        def initialize(cluster, broker)
          @cluster = cluster
          @broker = broker
          @data = File.join(cluster.nodes.fetch(broker).folder, "data")
          @kept = "#{@data}.kept"
        end

        def mount
          @cluster.stop_node(@broker)
          File.rename(@data, @kept)
          FileUtils.mkdir_p(@data)
          size = Dir[File.join(@kept, "**/*")].sum { |path| File.stat(path).blocks * 512 } + ROOM
          system("mount", "-t", "tmpfs", "-o", "size=#{size}", "none", @data, out: File::NULL, err: File::NULL) or refuse
          @mounted = true
          FileUtils.cp_r("#{@kept}/.", @data, preserve: true)
          @cluster.start_node(@broker)
          @cluster.await_healthy
        end

        def fill
          File.open(filler, "w") { |file| loop { file.syswrite("x" * 65_536) } }
        rescue Errno::ENOSPC
          nil
        end

        def empty = FileUtils.rm_f(filler)

        # The broker starts again with its data.
        def unmount
          return unless @mounted

          empty
          @cluster.stop_node(@broker)
          FileUtils.rm_rf(@kept)
          FileUtils.cp_r("#{@data}/.", FileUtils.mkdir_p(@kept).first, preserve: true)
          system("umount", @data) or raise "#{@data} can't be unmounted"
          FileUtils.rm_rf(@data)
          File.rename(@kept, @data)
          @cluster.start_node(@broker)
        end

        private

        def filler = File.join(@data, "filler")

        def refuse
          FileUtils.rm_rf(@data)
          File.rename(@kept, @data)
          @cluster.start_node(@broker)
          raise Scene::Skip, "tmpfs can't be mounted here"
        end
      end
    end
  end
end
