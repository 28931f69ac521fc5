# frozen_string_literal: true

require_relative "framework"

Penstock.load_constant :Outbox
