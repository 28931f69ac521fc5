# frozen_string_literal: true

require_relative "application"

exit PenstockApp.run!
