# frozen_string_literal: true

require_relative "../config/boot_file"

module Penstock
  module CLI
    BootFile = Config::BootFile
  end
end
