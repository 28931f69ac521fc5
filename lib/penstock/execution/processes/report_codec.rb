# frozen_string_literal: true

require_relative "frame"

module Penstock
  module Execution
    module Processes
      # Encodes a child's report about a unit that has ended: four numbers, and a hash for everything else, which is mostly
      # empty.
      module ReportCodec
        HEAD = "Q>q>Q>C"
        HEAD_BYTES = 25
        private_constant :HEAD, :HEAD_BYTES

        # `through`: all offsets below it are marked, -1 before the first mark; `rest` has :error and :blamed, :flow, :tags,
        # :consumer, :events and how many events were :dropped, as plain values.
        Report = Struct.new(:unit, :through, :took_us, :finished, :rest)

        # @param report [Report]
        # @return [String] a frame's body
        def self.encode(report)
          head = [report.unit, report.through, report.took_us, report.finished ? 1 : 0].pack(HEAD)
          report.rest.empty? ? head : head << Marshal.dump(report.rest)
        end

        # @param body [String]
        # @return [Report]
        # @raise [Frame::Damaged]
        def self.decode(body)
          unit, through, took_us, finished = body.unpack(HEAD)
          raise Frame::Damaged, "a unit's report is cut" unless finished
          rest = (body.bytesize > HEAD_BYTES) ? Frame.value(body.byteslice(HEAD_BYTES..)) : {}
          Report.new(unit, through, took_us, finished == 1, rest)
        end
      end
    end
  end
end
