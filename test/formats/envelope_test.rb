# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/native/envelope"

module Penstock
  module Native
    # Envelopes as released versions wrote them. They stay in clusters for months: if one can't be read any more, a restarted
    # group runs completed records again. Files are added, never changed.
    class EnvelopeFormatTest < TestCase
      FOLDER = __dir__

      Dir[File.join(FOLDER, "envelope-v*.txt")].each do |file|
        test "#{File.basename(file)} is read as intended, and written again byte by byte" do
          cases = File.foreach(file, chomp: true).reject { |line| line.empty? || line.start_with?("#") }.each_slice(2).to_a

          refute_empty cases
          cases.each { |json, text| assert_case(facts_of(json), text) }
        end
      end

      private

      def facts_of(json)
        facts = JSON.parse(json, symbolize_names: true)
        %i[attempts crashes].each do |name|
          facts[name] = (facts[name] || {}).to_h { |offset, count| [Integer(offset.to_s), count] }
        end
        facts
      end

      def assert_case(facts, text)
        decoded = Envelope.decode(text, base: facts[:base], topic: facts[:topic], cluster_id: facts[:cluster_id])

        assert_equal text, Envelope.encode(**facts)
        assert_nil decoded.ignored, text
        assert_equal [facts[:clean] || false, facts[:completed] || [], facts[:attempts]],
          decoded.to_h.values_at(:clean, :completed, :attempts)
        assert_equal [facts[:unclean_adoptions] || 0, facts[:crashes]], [decoded.unclean_adoptions, decoded.crashes]
        facts[:user_metadata] ? assert_equal(facts[:user_metadata], decoded.user_metadata) : assert_nil(decoded.user_metadata)
      end
    end
  end
end
