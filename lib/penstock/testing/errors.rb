# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Testing
    # The testing kit was used before the application was defined.
    class ApplicationNotLoadedError < StandardError
      include Error
    end

    # No route has this topic, or pattern of this name.
    class TopicNotFoundError < StandardError
      include Error
    end

    # Several consumer groups read the topic: which one is meant?
    class TopicInManyConsumerGroupsError < StandardError
      include Error
    end

    # No consumer group has this name.
    class ConsumerGroupNotFoundError < StandardError
      include Error
    end

    # There are several consumers, or examples, for which a message may be.
    class AmbiguousMessageError < StandardError
      include Error
    end

    # A run of the whole application doesn't end: its error names the topic and the last offsets.
    class EndlessRunError < StandardError
      include Error
    end

    # Something was asked of a run that needs a running application, or can't be while it runs.
    class RunStateError < StandardError
      include Error
    end
  end
end
