# frozen_string_literal: true

require_relative "probe"

# The log of a process that is killed must be complete.
$stdout.sync = true

# The body of the consumers whose groups are watched while brokers fail: a line per record into a file of its process,
# with partition, offset, monotonic ns and pid. Penstock and Karafka run the same code.
module Journal
  FILE = File.open(Probe["journal"], "a").tap { |file| file.sync = true }

  def consume
    messages.each do |message|
      FILE.syswrite("#{message.partition} #{message.offset} #{PROBE.now_ns} #{::Process.pid}\n")
    end
  end
end
