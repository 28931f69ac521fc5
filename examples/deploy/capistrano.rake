# frozen_string_literal: true

# lib/capistrano/tasks/penstock.rake. Hosts with the role :worker run the unit penstock-server (or the one in :penstock_unit);
# the deploying user may restart it with sudo.
namespace :penstock do
  desc "Checks settings and units of the new release before it becomes current"
  task :check do
    on roles(:worker) do
      within release_path do
        execute :bundle, :exec, :penstock, :doctor, "--deploy", "/etc/systemd/system/#{fetch(:penstock_unit)}.service"
      end
    end
  end

  # `systemctl restart` sends TERM, waits for the end of the old release's jobs and for the new one's READY. One host
  # after another, so that the others continue, and a release that doesn't start stops the deploy at the first.
  desc "Replaces the running servers, one host after another"
  task :restart do
    on roles(:worker), in: :sequence do
      execute :sudo, :systemctl, :restart, fetch(:penstock_unit)
    end
  end

  desc "Prints the status of the servers"
  task :status do
    on roles(:worker) do
      within current_path do
        with penstock_run_dir: "/run/#{fetch(:penstock_unit)}" do
          puts capture(:bundle, :exec, :penstock, :status)
        end
      end
    end
  end
end

namespace :load do
  task(:defaults) { set :penstock_unit, "penstock-server" }
end

after "deploy:updated", "penstock:check"
after "deploy:published", "penstock:restart"
