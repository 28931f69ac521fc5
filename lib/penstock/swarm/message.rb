# frozen_string_literal: true

module Penstock
  module Swarm
    # The messages between a node and its supervisor, and between a mold and its supervisor. Values; {Frame} encodes and decodes
    # them.
    module Message
      # Every report contains facts about the node: `state` (String), `member` (whether it was in all its groups), `rss_bytes`,
      # `jobs` (ended since it began), `running`, `partitions`, `loops` (a row each). Symbols as keys.
      #
      # Its loops run: the node is up.
      Ready = Struct.new(:facts)
      # Work proceeds.
      Healthy = Struct.new(:facts)
      # Something that should proceed doesn't.
      Unhealthy = Struct.new(:reason, :facts)
      # It will end within this many ms; until then it needn't report.
      Stopping = Struct.new(:within_ms)
      # It has stopped and will exit with this code.
      Stopped = Struct.new(:code)

      # From a mold: it is ready to spawn nodes, after this many ms.
      Warm = Struct.new(:ms)
      # From a mold: it can't spawn, and ends. Each problem is its place, a sentence and the hint.
      Failed = Struct.new(:problems)
      # To a mold: spawn the node of this index. The node's ends of two pipes come with the message.
      Spawn = Struct.new(:number, :index)
      # From a mold, to a request of that number: the node's process id, or nil and why there is none.
      Spawned = Struct.new(:number, :pid, :reason)

      # A type's number is its position; new ones are added at the end.
      TYPES = [Ready, Healthy, Unhealthy, Stopping, Stopped, Warm, Failed, Spawn, Spawned].freeze
    end
  end
end
