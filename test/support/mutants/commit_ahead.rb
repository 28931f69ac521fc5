# frozen_string_literal: true

# A defect put into a server on purpose, by `ruby -r`: it commits offsets that lie ahead of what was processed. Whoever
# takes over after a crash begins behind records that nobody has processed.
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
