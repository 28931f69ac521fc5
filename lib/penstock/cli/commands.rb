# frozen_string_literal: true

# The command line's own commands, in the order in which the overview shows them. Each file registers its own; leaves add
# theirs in exe/penstock.
require_relative "commands/server"
require_relative "commands/console"
require_relative "commands/install"
require_relative "commands/info"
require_relative "commands/routes"
require_relative "commands/topics_list"
require_relative "commands/topics_create"
require_relative "commands/topics_delete"
require_relative "commands/groups_lag"
require_relative "commands/produce"
require_relative "commands/tail"
require_relative "commands/dead_list"
require_relative "commands/dead_show"
require_relative "commands/dead_replay"
require_relative "commands/dead_drop"
require_relative "commands/doctor"
require_relative "commands/help"
require_relative "commands/version"
