# frozen_string_literal: true

require_relative "../../native"
require_relative "../../version"
require_relative "step"

module Penstock
  module CLI
    module Doctor
      # Reports the versions and features of this installation, and what is missing because of them.
      class Build
        # Feature of librdkafka => what is missing without it.
        WANTED = {
          "ssl" => "no TLS connections", "sasl_scram" => "no login by SCRAM", "sasl_oauthbearer" => "no login by OAuth",
          "gzip" => "no gzip: batches compressed with it can be neither read nor sent",
          "snappy" => "no snappy: batches compressed with it can be neither read nor sent",
          "lz4" => "no lz4: batches compressed with it can be neither read nor sent",
          "zstd" => "no zstd: batches compressed with it can be neither read nor sent",
          "oidc" => "no tokens from an OIDC provider"
        }.freeze

        # @param built [Array<String>] features of librdkafka as it was built
        def initialize(built = Native.features)
          @built = built
        end

        # @return [Array<Step>]
        def steps
          [Step.ok("Penstock", "#{VERSION} on Ruby #{RUBY_VERSION} (#{RUBY_PLATFORM})"), driver, features]
        end

        private

        def driver
          detail = "librdkafka #{Native::LIBRDKAFKA_VERSION}"
          return Step.ok("driver", "#{detail}, built in, with the rebalance patch") if Native.patched?

          Step.warning("driver", "#{detail} of the system, without the rebalance patch",
            "while a rebalance waits for its answer all partitions are stopped, so running jobs get 2 s to end " \
            "instead of 30; install without --use-system-libraries to change that")
        end

        def features
          lost = WANTED.except(*@built)
          return Step.ok("features", @built.join(", ")) if lost.empty?

          Step.warning("features", "#{@built.join(", ")}; #{lost.values.join("; ")}",
            "install the headers (bin/setup lists them) and rebuild the gem")
        end
      end
    end
  end
end
