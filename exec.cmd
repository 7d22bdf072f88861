@rem npm start begins with exec, so that the signals of npm reach Keytrail. cmd has no exec: this file runs the rest of the line.
@%*
