# frozen_string_literal: true

module Penstock
  module Swarm
    # What a node tells its supervisor, and a mold and its supervisor each other. Values; {Frame} makes bytes of them and back.
    module Message
      # What about a node is told with every report: `state` (String), `member` (whether it was in all its groups), `rss_bytes`,
      # `jobs` (ended since it began), `running`, `partitions`, `loops` (a row each). Symbols as keys.
      #
      # The loops turn: it is up.
      Ready = Struct.new(:facts)
      # Work goes on.
      Healthy = Struct.new(:facts)
      # Something doesn't go on that should.
      Unhealthy = Struct.new(:reason, :facts)
      # It comes to its end within so many ms; until then it needn't report.
      Stopping = Struct.new(:within_ms)
      # It has come to its end and will exit with this code.
      Stopped = Struct.new(:code)

      # From a mold: it is ready to spawn nodes. How long it took.
      Warm = Struct.new(:ms)
      # From a mold: it can't, and ends. Each problem is its place, a sentence and the way out.
      Failed = Struct.new(:problems)
      # To a mold: spawn the node of this index. The node's ends of two pipes come with the message.
      Spawn = Struct.new(:number, :index)
      # From a mold, to a request of that number: the node's process id, or nil and why there is none.
      Spawned = Struct.new(:number, :pid, :reason)

      # A type's number is its place; new ones are added at the end.
      TYPES = [Ready, Healthy, Unhealthy, Stopping, Stopped, Warm, Failed, Spawn, Spawned].freeze
    end
  end
end
