# frozen_string_literal: true

# A deliberate defect, loaded into a server by `ruby -r`: it commits offsets ahead of what was processed. After a crash
# the next owner begins after records that nobody has processed.
if ARGV.first == "server"
  $LOAD_PATH.unshift File.expand_path("../../../lib", __dir__)
  require "penstock/native/consumer"

  ahead = Module.new do
    define_method(:commit) do |token, rows|
      super(token, rows.map { |topic, partition, offset, *rest| [topic, partition, offset + 400, *rest] })
    end
  end
  Penstock::Native::Consumer.prepend(ahead)
end
