# frozen_string_literal: true

class ApplicationConsumer < Penstock::BaseConsumer
end
