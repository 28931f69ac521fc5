# frozen_string_literal: true

require "rexml/document"

module Penstock
  module TestSupport
    module Runner
      # Reads one XML file of memcheck. Ruby's conservative collector reads stacks and freed slots all the time, and
      # frees little at exit. So a finding counts only when the code that erred, or that asked for the memory, is ours:
      # when the innermost frame outside the C library and the tool belongs to our extensions (librdkafka included).
      class ValgrindReport
        OURS = /penstock_(?:core|kafka)\.so\z/
        MENTIONED = /penstock_(?:core|kafka)\.so</
        # Functions in which memory is copied, compared or written on behalf of a caller.
        TRANSPARENT = %r{/(?:libc|libpthread|ld-linux|vgpreload)[^/]*\z}

        def initialize(path)
          @path = path
        end

        # @return [Array<String>]
        def findings
          errors.select { |error| ours?(error) }.map { |error| describe(error) }
        end

        private

        # One after another, and only those in whose stacks our code is: all files together are a gigabyte of Ruby's own
        # findings. A process that was killed leaves its file without an end.
        def errors
          File.foreach(@path, "</error>").filter_map do |text|
            next unless text.match?(MENTIONED) && text.end_with?("</error>")
            REXML::Document.new(text[text.index("<error>")..]).root
          end
        end

        def ours?(error)
          innermost = frames_of(error).find { |frame| !TRANSPARENT.match?(object(frame)) }
          innermost && OURS.match?(object(innermost))
        end

        def frames_of(error)
          error.get_elements("stack").first.get_elements("frame")
        end

        def object(frame)
          frame.elements["obj"]&.text.to_s
        end

        def describe(error)
          what = (error.elements["what"] || error.elements["xwhat/text"]).text
          frames = frames_of(error).first(16).map do |frame|
            place = [frame.elements["file"]&.text, frame.elements["line"]&.text].compact.join(":")
            "    #{frame.elements["fn"]&.text || object(frame)} #{place}"
          end
          [what, *frames].join("\n")
        end
      end
    end
  end
end
